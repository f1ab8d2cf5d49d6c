"""The variables that an agent client needs for its model provider: keys, addresses, and its own settings."""

_ANTHROPIC = ("ANTHROPIC_", "CLAUDE_")
_OPENAI = ("OPENAI_", "AZURE_OPENAI_", "CODEX_")
_GOOGLE = ("GEMINI_", "GOOGLE_", "CLOUD_ML_", "VERTEX_")
_GITHUB = ("GH_TOKEN", "GITHUB_TOKEN", "GH_HOST", "GH_CONFIG_DIR", "COPILOT_", "GITHUB_COPILOT_")
_AMAZON = ("AWS_",)
"""For Bedrock, which some clients use."""

_OTHERS = (
    *("OPENROUTER_", "MISTRAL_", "GROQ_", "DEEPSEEK_", "XAI_", "TOGETHER_", "FIREWORKS_", "CEREBRAS_", "COHERE_"),
    *("PERPLEXITY_", "MOONSHOT_", "ZHIPU_", "ZAI_", "DASHSCOPE_", "QWEN_", "HF_TOKEN", "HUGGINGFACE_", "OLLAMA_"),
    *("LMSTUDIO_", "LITELLM_", "DATABRICKS_", "SNOWFLAKE_", "AZURE_"),
)

_ANY = (*_ANTHROPIC, *_OPENAI, *_GOOGLE, *_GITHUB, *_AMAZON, *_OTHERS)

_BY_CLIENT = {
    "claude": (
        *(*_ANTHROPIC, *_AMAZON, *_GOOGLE),
        *("DISABLE_", "MAX_THINKING_TOKENS", "BASH_", "MCP_T", "API_TIMEOUT_MS", "ENABLE_TOOL_SEARCH"),
    ),
    "codex": (*_OPENAI, "INITIAL_AGENT_MODE"),
    "gemini": _GOOGLE,
    "copilot": _GITHUB,
    "opencode": (*_ANY, "OPENCODE_"),
    "goose": (*_ANY, "GOOSE_"),
}


def variables_of(client: str) -> tuple[str, ...]:
    """The prefixes of a client's variables; for an unknown client, those of every provider."""
    return _BY_CLIENT.get(client, (*_ANY, "OPENCODE_", "GOOSE_", "ACP_"))
