"""Every file of a repository that Binnacle reads by its name: what a stranger could hand us in a clone.

The tests of hostile repositories make each of these hostile, and hold the code to this list: what is opened in a
repository and does not stand here fails them. So a new place is written down here first.
"""

from typing import NamedTuple

from binnacle.config.directories import PROJECT_DIR


class ProjectFile(NamedTuple):
    """A file, or a pattern of files, below the top of a repository."""

    path: str
    what: str


PROJECT_FILES = (
    ProjectFile(f"{PROJECT_DIR}/config.toml", "settings"),
    ProjectFile(f"{PROJECT_DIR}/mcp.json", "upstream servers"),
    ProjectFile(".beans/mcp.json", "upstream servers"),
    ProjectFile(f"{PROJECT_DIR}/hooks.yaml", "hooks"),
    ProjectFile(".iteratr.hooks.yml", "hooks"),
    ProjectFile(f"{PROJECT_DIR}/recipes/*.yaml", "recipes"),
    ProjectFile(f"{PROJECT_DIR}/prompts/run.md", "the template of runs"),
    ProjectFile(f"{PROJECT_DIR}/scripts/*", "scripts and their metadata"),
    ProjectFile(".vsc-bridge/*", "the bridge: its host, its log, its jobs"),
    ProjectFile(".gitignore", "what bn adds the bridge's folder to"),
    ProjectFile("AGENTS.md", "what agents are told about the repository"),
    ProjectFile(".mcp.json", "servers of clients, when they are imported or set up"),
    ProjectFile(".github/mcp.json", "the same"),
    ProjectFile(".vscode/mcp.json", "the same"),
    ProjectFile(".cursor/mcp.json", "the same"),
    ProjectFile(".zed/settings.json", "the same"),
    ProjectFile("opencode.json*", "the same"),
    ProjectFile(".opencode/opencode.json*", "the same"),
    ProjectFile(".codex/config.toml", "the same"),
    ProjectFile(".gemini/settings.json", "the same"),
)
"""Besides them only files that a person or a task names: a specification, context files, what a debugger shows."""
