"""The scripts of a project, in `.binnacle/scripts/`, and which of them may run.

Opening a cloned repository must not run programs, and a stranger's description of a tool must not reach an agent. So a
script becomes a tool only once a person has trusted exactly this program and this metadata.
"""

import os
from contextlib import suppress
from typing import NamedTuple

from binnacle.bridge.manifest import ScriptEntry, ScriptManifest, gather_scripts, shipped_scripts
from binnacle.config.directories import PROJECT_DIR
from binnacle.config.repository_files import read_inside
from binnacle.config.trust import TrustItem, is_trusted
from binnacle.errors import BridgeError, ConfigError, NextStep


class ProjectScript(NamedTuple):
    """A script of the project."""

    entry: ScriptEntry
    program: str
    """Empty if there is no executable next to the metadata."""

    file: str
    """Its metadata."""

    is_trusted: bool

    @property
    def alias(self) -> str:
        return self.entry.metadata.alias


class ProjectScripts(NamedTuple):
    """The scripts of a project, and problems with others."""

    scripts: dict[str, ProjectScript]
    problems: list[ConfigError]

    def manifest(self) -> ScriptManifest:
        """The scripts that may run."""
        usable = {alias: one.entry for alias, one in self.scripts.items() if one.is_trusted and one.program}
        return ScriptManifest(scripts=usable)

    def names(self) -> dict[str, str]:
        """Every name of every tool → alias, also of scripts that may not run."""
        return ScriptManifest(scripts={alias: one.entry for alias, one in self.scripts.items()}).by_tool()


MAX_SCRIPT_BYTES = 4_000_000
"""Bytes of a program or its metadata. Nobody reads a larger one before trusting it."""

RESERVED_TOOL_PREFIXES = ("mcp_", "binnacle", "bridge_")
"""Prefixes of tools that are not the project's: upstream servers' and ours."""


def is_reserved_tool(name: str) -> bool:
    return name.startswith(RESERVED_TOOL_PREFIXES)


def scripts_folder(repo: str) -> str:
    return os.path.join(repo, PROJECT_DIR, "scripts")


def find_project_scripts(repo: str) -> ProjectScripts:
    """The scripts of a project. Loads nothing if it has none."""
    folder = scripts_folder(repo)
    if not os.path.isdir(folder):
        return ProjectScripts({}, [])
    found = gather_scripts(folder, known=shipped_scripts())
    scripts = {}
    problems = list(found.problems)
    for alias, entry in found.manifest.scripts.items():
        if taken := next(filter(is_reserved_tool, (entry.metadata.tool, *entry.metadata.mcp.aliases)), None):
            hint = f"take a name that does not begin with {' or '.join(RESERVED_TOOL_PREFIXES)}"
            problems.append(ConfigError(f"{found.files[alias]}: {taken!r} is not for scripts", hint=hint))
            continue
        program = os.path.join(folder, entry.script_rel_path) if entry.script_rel_path else ""
        file = found.files[alias]
        if not program:
            hint = "put a program of the same name beside it, and make it executable: chmod +x"
            problems.append(ConfigError(f"{file}: no program is beside it", hint=hint))
        scripts[alias] = ProjectScript(entry, program, file, bool(program) and _is_trusted(alias, program, file, repo))
    return ProjectScripts(scripts, problems)


def check_trusted(one: ProjectScript, repo: str) -> None:
    """Checks that a script is trusted as it is now.

    Raises:
        BridgeError: E_UNAUTHORIZED.
    """
    if not one.program or not _is_trusted(one.alias, one.program, one.file, repo):
        raise BridgeError(
            "E_UNAUTHORIZED",
            f"no person has trusted {one.alias} as it is now",
            hint=NextStep("look at it and trust it", f"trust script:{one.alias}", for_person=True),
        )


def find_trust_items(repo: str) -> list[TrustItem]:
    """The scripts of a project as a person sees them before trusting them."""
    own = find_project_scripts(repo).scripts.values()
    return [item for one in own if one.program and (item := _item(one.alias, one.program, one.file, repo))]


def _is_trusted(alias: str, program: str, file: str, repo: str) -> bool:
    item = _item(alias, program, file, repo)
    return item is not None and is_trusted(repo, item)


def _item(alias: str, program: str, file: str, repo: str) -> TrustItem | None:
    """A script and its metadata, both complete; None if they cannot be read."""
    parts = []
    for path in (file, program):
        try:
            content = read_inside(repo, path, limit=MAX_SCRIPT_BYTES)
        except OSError:
            return None
        parts.append(f"==> {os.path.basename(path)}\n{_show_content(content)}")
    does = f"let agents run {os.path.basename(program)} as a tool, with this description"
    return TrustItem(kind="script", name=alias, place=program, does=does, content="\n".join(parts))


def _show_content(content: bytes) -> str:
    """The content as text; for a binary program, its digest."""
    with suppress(UnicodeDecodeError):
        return content.decode()
    from hashlib import sha256

    return f"(not text: {len(content)} bytes, SHA-256 {sha256(content).hexdigest()})"
