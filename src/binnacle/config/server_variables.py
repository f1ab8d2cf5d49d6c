"""The environment variables that our MCP server reads, for clients that pass only listed variables."""

from binnacle.config.settings import SETTINGS, Setting

_RUN = "run."
"""Prefix of the settings of `bn run`, which serves its agents itself."""


def _is_for_commands(setting: Setting) -> bool:
    """Whether only people's commands read it; a server always writes for programs."""
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
"""The variables for the location of the work, the identity of the agent, and the server's behaviour."""
