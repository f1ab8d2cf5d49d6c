"""The scripts that a project has of its own, in `.binnacle/scripts/`, and which of them may run.

A repository that is cloned must not run programs by being opened, and what a stranger wrote about a tool must not reach
an agent. So a script becomes a tool once a person has approved exactly this program and this metadata.
"""

import os
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple

from binnacle.bridge.manifest import Entry, Manifest, gather, shipped
from binnacle.config import approvals
from binnacle.config.approvals import Approval, approvals_file
from binnacle.config.location import PROJECT_DIR
from binnacle.errors import BridgeError, ConfigError, NextStep, Refused


class OwnScript(NamedTuple):
    """A script of the project."""

    entry: Entry
    program: str
    """Empty where there is none beside the metadata that may be executed."""

    file: str
    """Its metadata."""

    is_approved: bool

    @property
    def alias(self) -> str:
        return self.entry.metadata.alias


class OwnScripts(NamedTuple):
    """All of them, and what is wrong with the others."""

    scripts: dict[str, OwnScript]
    problems: list[ConfigError]

    def manifest(self) -> Manifest:
        """Those that may run."""
        usable = {alias: one.entry for alias, one in self.scripts.items() if one.is_approved and one.program}
        return Manifest(scripts=usable)

    def names(self) -> dict[str, str]:
        """Every name of every tool, of those that may not run as well → alias."""
        return Manifest(scripts={alias: one.entry for alias, one in self.scripts.items()}).by_tool()


RESERVED = ("mcp_", "binnacle", "bridge_")
"""How tools are called that are not the project's: those of upstream servers, and of ours."""


def is_reserved(name: str) -> bool:
    return name.startswith(RESERVED)


def scripts_folder(repo: str) -> str:
    return os.path.join(repo, PROJECT_DIR, "scripts")


def find_own(repo: str) -> OwnScripts:
    """What the project has. Nothing is loaded where it has nothing."""
    folder = scripts_folder(repo)
    if not os.path.isdir(folder):
        return OwnScripts({}, [])
    found = gather(folder, known=shipped())
    scripts = {}
    problems = list(found.problems)
    for alias, entry in found.manifest.scripts.items():
        if taken := next(filter(is_reserved, (entry.metadata.tool, *entry.metadata.mcp.aliases)), None):
            hint = f"take a name that does not begin with {' or '.join(RESERVED)}"
            problems.append(ConfigError(f"{found.files[alias]}: {taken!r} is not for scripts", hint=hint))
            continue
        program = os.path.join(folder, entry.script_rel_path) if entry.script_rel_path else ""
        file = found.files[alias]
        if not program:
            hint = "put a program of the same name beside it, and make it executable: chmod +x"
            problems.append(ConfigError(f"{file}: no program is beside it", hint=hint))
        scripts[alias] = OwnScript(entry, program, file, bool(program) and _holds(repo, alias, program, file))
    return OwnScripts(scripts, problems)


def approve(one: OwnScript, repo: str, *, by: str, is_agent: bool) -> None:
    """Lets agents of this project run a script from now on, as it is.

    Raises:
        Refused: an agent asked for it.
        ConfigError: the approvals cannot be read or written.
    """
    if is_agent:
        raise Refused(f"only a person can approve {one.alias!r}", hint=_approve(one))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    approval = Approval(sha256=digest(one.program, one.file), command=(one.program,), by=by, at=now)
    approvals.keep(approvals_file(), repo, _key(one.alias), approval)


def check_approved(one: OwnScript, repo: str) -> None:
    """Holds a script to what was approved. A file of approvals that cannot be read approves of nothing.

    Raises:
        BridgeError: E_UNAUTHORIZED.
    """
    if not one.program or not _holds(repo, one.alias, one.program, one.file):
        raise BridgeError(
            "E_UNAUTHORIZED",
            f"no person has approved {one.alias} as it is now",
            hint=_approve(one),
        )


def _approve(one: OwnScript) -> NextStep:
    return NextStep("approve it", f"script approve {one.alias}", for_person=True)


def was_approved(alias: str, repo: str) -> bool:
    """Whether a script of that name was approved once, in whatever form."""
    with suppress(ConfigError):
        return approvals.find(approvals_file(), repo, _key(alias)) is not None
    return False


def digest(program: str, file: str) -> str:
    """Stands for exactly this program and this metadata; for nothing that was ever approved if they cannot be read."""
    from hashlib import sha256

    found = sha256()
    for path in (program, file):
        try:
            with open(path, "rb") as stream:
                content = stream.read()
        except OSError:
            return ""
        found.update(len(content).to_bytes(8, "big"))
        found.update(content)
    return found.hexdigest()


def _holds(repo: str, alias: str, program: str, file: str) -> bool:
    with suppress(ConfigError):
        known = approvals.find(approvals_file(), repo, _key(alias))
        return known is not None and known.sha256 != "" and known.sha256 == digest(program, file)
    return False


def _key(alias: str) -> str:
    """Beside the names of servers, none of which holds a colon."""
    return f"script:{alias}"
