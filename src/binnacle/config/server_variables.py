"""The environment variables that our MCP server reads, for clients that pass on only those they are told to."""

from binnacle.config.settings import SETTINGS, Setting

_RUN = "run."
"""Begins the settings of `bn run`, which serves its agents by itself."""


def _is_for_commands(setting: Setting) -> bool:
    """Whether only commands of people read it; a server writes for programs always."""
    return setting.key.startswith(_RUN) or setting.is_personal


SERVER_VARIABLES = tuple(
    sorted(
        {
            *(one.variable for one in SETTINGS.values() if one.variable and not _is_for_commands(one)),
            *("BN_DATA_DIR", "BN_REPO", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"),
            *("BN_AGENT_ID", "BN_AGENT_NAME", "BN_AGENT_TYPE", "BN_SESSION", "BN_USER"),
            *("BN_MCP_TIMEOUT", "BN_DEBUG", "BN_PASS_ENV"),
        }
    )
)
"""Where the work is kept, who works, and how the server behaves."""
