"""Every file of a repository that Binnacle reads by its name: what a hostile clone could contain.

The tests of hostile repositories make each of these hostile, and fail if the code opens a file in a repository that is
not in this list. So a new file must be added here first.
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
    ProjectFile(f"{PROJECT_DIR}/checks.yaml", "checks"),
    ProjectFile(f"{PROJECT_DIR}/recipes/*.yaml", "recipes"),
    ProjectFile(f"{PROJECT_DIR}/prompts/run.md", "the template of runs"),
    ProjectFile(f"{PROJECT_DIR}/scripts/*", "scripts and their metadata"),
    ProjectFile(".vsc-bridge/*", "the bridge: its host, its log, its jobs"),
    ProjectFile(".gitignore", "what bn adds the bridge's folder to"),
    ProjectFile("AGENTS.md", "instructions for agents"),
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
"""Other files are read only if a person or a task names them: a specification, context files, debugged sources."""
