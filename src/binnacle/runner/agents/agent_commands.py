"""Agents that are known by name, and the command that starts any agent."""

import os
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from binnacle.errors import AgentStart, InvalidInput, nearest


@dataclass(frozen=True, kw_only=True)
class AgentCommand:
    """How an agent is started, and hints for people about it."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    """Variables that it needs in addition; they replace others of the same name."""

    model: str | None = None
    """The model to choose in the session, if neither the command nor the environment names it."""

    session_meta: Mapping[str, Any] = field(default_factory=dict)
    """The `_meta` of the request that opens a session."""

    servers_variable: str = ""
    """The variable in `env` from which codex-acp takes the MCP servers of a session, instead of that request."""

    install: str = ""
    """How to get it."""

    login: str = ""
    """How to log in to it."""

    @property
    def try_it(self) -> str:
        """The hint for an agent that ended unexpectedly."""
        return f"see its log, and try it by hand: {shlex.join(self.argv)}"


@dataclass(frozen=True, kw_only=True)
class _Known:
    commands: tuple[tuple[str, ...], ...]
    """Ways to start it; the first whose program is installed is used."""

    install: str = ""
    login: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)
    """Variables it needs unless the person has set them."""

    model_flag: str = ""
    """Option of the command that names the model."""

    model_variable: str = ""
    """Variable that names the model. With neither, it is chosen in the session."""


KNOWN_AGENTS: Mapping[str, _Known] = {
    "opencode": _Known(
        commands=(("opencode", "acp"),),
        install="npm install -g opencode-ai",
        login="run `opencode auth login`",
    ),
    "goose": _Known(
        commands=(("goose", "acp"),),
        install="npm install -g @aaif/goose-binary-linux-x64, or see the documentation of goose",
        login="run `goose configure`, or set GOOSE_PROVIDER and its key",
        model_variable="GOOSE_MODEL",
    ),
    "claude": _Known(
        commands=(("claude-agent-acp",), ("claude-code-acp",)),
        install="npm install -g @agentclientprotocol/claude-agent-acp",
        login="run `claude` and then /login, or set ANTHROPIC_API_KEY",
        # Otherwise the tools that the prompt names are hidden until the agent searches for them.
        defaults={"ENABLE_TOOL_SEARCH": "false"},
    ),
    "codex": _Known(
        commands=(("codex-acp",),),
        install="npm install -g @agentclientprotocol/codex-acp",
        login="run `codex login`, or set OPENAI_API_KEY",
        # By default a second model decides what is allowed, and nobody is asked.
        defaults={"INITIAL_AGENT_MODE": "workspace-write"},
    ),
    "gemini": _Known(
        commands=(("gemini", "--acp"),),
        install="npm install -g @google/gemini-cli",
        login="run `gemini` once and log in, or set GEMINI_API_KEY",
        # Otherwise it starts itself again, and the first process does not end with the second.
        env={"GEMINI_CLI_NO_RELAUNCH": "true"},
        model_flag="--model",
    ),
    "copilot": _Known(
        commands=(("copilot", "--acp"),),
        install="npm install -g @github/copilot",
        login="run `copilot` and then /login, or set GH_TOKEN",
        model_flag="--model",
    ),
}


def resolve_agent(words: str, *, model: str | None = None, environ: Mapping[str, str] = os.environ) -> AgentCommand:
    """The agent that a person names: one of `KNOWN_AGENTS`, or any command that speaks the Agent Client Protocol.

    Raises:
        AgentStart: its program is not installed; the hint says how to get it.
        InvalidInput: that is no command line.
    """
    known = KNOWN_AGENTS.get(words.strip())
    agent = _make_known(words.strip(), known, environ) if known else _command(words)
    if _find(agent.argv[0], environ) is None:
        raise _missing(agent, words)
    if model is None or known is None:
        return replace(agent, model=model)
    if known.model_flag:
        # In one argument: a project may name the model, and a name like `--yolo` must not become an option.
        return replace(agent, argv=(*agent.argv, f"{known.model_flag}={model}"))
    if known.model_variable:
        return replace(agent, env={**agent.env, known.model_variable: model})
    return replace(agent, model=model)


def _make_known(name: str, known: _Known, environ: Mapping[str, str]) -> AgentCommand:
    argv = next((argv for argv in known.commands if _find(argv[0], environ)), known.commands[0])
    needed = {variable: value for variable, value in known.defaults.items() if variable not in environ}
    return AgentCommand(name=name, argv=argv, env={**known.env, **needed}, install=known.install, login=known.login)


def _command(words: str) -> AgentCommand:
    try:
        argv = tuple(shlex.split(words))
    except ValueError as error:
        raise InvalidInput(f"not a command line: {words!r}", hint=f"{error}".lower()) from error
    if not argv:
        raise InvalidInput("no agent given", hint=f"one of: {', '.join(KNOWN_AGENTS)}; or a command that speaks ACP")
    return AgentCommand(name=os.path.basename(argv[0]), argv=argv)


def _find(program: str, environ: Mapping[str, str]) -> str | None:
    """The path of a program. One with a slash may be relative to the agent's folder, so it is not resolved here."""
    return program if os.sep in program else shutil.which(program, path=environ.get("PATH"))


def _missing(agent: AgentCommand, words: str) -> AgentStart:
    near = nearest(words, list(KNOWN_AGENTS)) if not agent.install else None
    hint = agent.install and f"install it: {agent.install}"
    hint = hint or (
        f"did you mean {near!r}?" if near else f"known agents: {', '.join(KNOWN_AGENTS)}; or give a command"
    )
    return AgentStart(f"no such command: {agent.argv[0]}", hint=hint)
