"""The files of a session: what it may do, what its agent reads, and how a client reaches its tools.

New files are written to a folder `.new`, which is renamed to `.ready` and then moved over the old files. If a writer is
killed after the rename, the next reader or writer finishes the move. A checksum of every line is stored too, so that a
file changed by hand is detected and the error names the line: the server enforces the plan, not what the file says.
"""

import os
import shutil
import sys
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from binnacle.config.clients.foreign_files import locked
from binnacle.config.clients.session_server import free_server_name
from binnacle.config.directories import show_path
from binnacle.config.private_files import make_new_private_folder, make_private_folder, private_opener
from binnacle.errors import ConfigError, InvalidInput, Refused
from binnacle.plan.recipe import Recipe
from binnacle.plan.session_plan import PLAN_FORMAT_VERSION, SessionPlan
from binnacle.upstream.configuration.server_overview import allowed_entries
from binnacle.work import steps

CONTEXT, PROMPT, CONFIG, CHECKS = "context.json", "prompt.md", "mcp.json", "checks.json"
NEW, READY = ".new", ".ready"
"""Folders of a writer: while it writes, and once its files are complete."""


class SessionContext(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The content of `context.json`."""

    session: str
    recipe: str
    discipline: str | None = None
    feature: str | None = None
    task: str | None = None
    input: str = ""
    """What a person wants from the session, in their words."""

    enabled_tools: tuple[str, ...]
    disabled_tools: tuple[str, ...]
    tokens: Mapping[str, int]
    catalog: str
    schema: int
    limits: Recipe | None = None
    """The most that the session may ever have, whatever its recipe says later."""


class SavedPlan(NamedTuple):
    """The paths of a session's files."""

    context: str
    prompt: str
    config: str


class SessionServers(NamedTuple):
    """The MCP servers of a session."""

    ours: str
    """The name of our own server among them."""

    entries: dict[str, Any]
    """The servers by name, in the format of `mcp.json`."""


def paths(folder: str) -> SavedPlan:
    """The files of the session in `folder`."""
    return SavedPlan(*(os.path.join(folder, name) for name in (CONTEXT, PROMPT, CONFIG)))


def write(folder: str, plan: SessionPlan, *, cwd: str) -> SavedPlan:
    """Writes the files of a session, all or none. Other files in the folder, such as a transcript, stay."""
    texts = {
        CONTEXT: _json(_make_context(plan)),
        PROMPT: plan.prompt.text,
        CONFIG: _json(client_config(plan, cwd=cwd)),
    }
    texts[CHECKS] = _json({name: _checksums(text) for name, text in texts.items()})
    try:
        make_private_folder(folder)
        with _locked_and_finished(folder):
            _write_new(os.path.join(folder, NEW), texts)
            os.rename(os.path.join(folder, NEW), os.path.join(folder, READY))
            _finish(folder)
    except OSError as error:
        hint = "check its permissions and the free space"
        raise ConfigError(f"cannot write {folder}: {error.strerror}", hint=hint) from error
    return paths(folder)


def _write_new(new: str, texts: Mapping[str, str]) -> None:
    shutil.rmtree(new, ignore_errors=True)
    make_new_private_folder(new)
    for name, text in texts.items():
        with open(os.path.join(new, name), "w", encoding="utf-8", newline="", opener=private_opener) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())


@contextmanager
def _locked_and_finished(folder: str) -> Iterator[None]:
    """Locks the files against other readers and writers, and finishes the work of a killed writer first."""
    with locked(os.path.join(folder, CONTEXT)):
        _finish(folder)
        yield


def _finish(folder: str) -> None:
    """Moves complete new files over the old ones."""
    ready = os.path.join(folder, READY)
    if not os.path.isdir(ready):
        return
    for name in os.listdir(ready):
        os.replace(os.path.join(ready, name), os.path.join(folder, name))
    os.rmdir(ready)


def is_kept(folder: str) -> bool:
    """Whether a plan was written to `folder`, even if files are missing now."""
    return any(os.path.exists(os.path.join(folder, name)) for name in (CONTEXT, PROMPT, CONFIG, CHECKS, READY))


def read(folder: str) -> SessionContext | None:
    """The context of the session in `folder`, after checking that its files are unchanged.

    None if another version of the program wrote it in another format.

    Raises:
        Refused: a file was changed; the error names the file, the line and what it says now.
    """
    with _locked_and_finished(folder):
        known = _read_sums(folder)
        for name in (CONTEXT, PROMPT, CONFIG):
            _compare(os.path.join(folder, name), known.get(name, []))
        with open(paths(folder).context, "rb") as file:
            content = file.read()
    try:
        found = msgspec.json.decode(content, type=SessionContext)
    except msgspec.DecodeError:
        return None
    return found if found.schema == PLAN_FORMAT_VERSION else None


def _compare(path: str, known: list[int]) -> None:
    """Checks that a file has the lines that were written."""
    try:
        with open(path, encoding="utf-8", errors="replace", newline="") as file:
            text = file.read()
    except OSError as error:
        raise _edited_error(path, f"cannot be read: {error.strerror}") from error
    for number, (line, now, expected) in enumerate(zip(text.split("\n"), _checksums(text), known, strict=False), 1):
        if now != expected:
            raise _edited_error(path, f"line {number} was changed: {line.strip()[:120]!r}")
    if (number := text.count("\n") + 1) != len(known):
        raise _edited_error(path, f"has {number} lines; {len(known)} were written")


def _read_sums(folder: str) -> dict[str, list[int]]:
    path = os.path.join(folder, CHECKS)
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(), type=dict[str, list[int]])
    except OSError as error:
        raise _edited_error(path, f"cannot be read: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _edited_error(path, f"was changed: {error}") from error


def _edited_error(path: str, how: str) -> Refused:
    return Refused(
        f"the plan was edited: {path} {how}",
        hint=(
            steps.ask_person("put the change into a recipe or the discipline, and start a new session"),
            steps.renew_plan(os.path.basename(os.path.dirname(path))),
        ),
        details={"file": path},
    )


def bn_command() -> str:
    """The path of `bn`: next to our Python if it exists, otherwise on PATH."""
    own = os.path.join(os.path.dirname(sys.executable), "bn")
    return own if os.path.exists(own) else shutil.which("bn") or "bn"


def client_config(plan: SessionPlan, *, cwd: str) -> dict[str, Any]:
    """The content of a client's `--mcp-config`."""
    return {"mcpServers": session_servers(plan, cwd=cwd).entries}


def session_servers(plan: SessionPlan, *, cwd: str) -> SessionServers:
    """Our server with this plan, under a free name, and the discipline's servers that may be used."""
    if show_path(cwd) != cwd:
        raise InvalidInput(
            f"a path that is not UTF-8 cannot be written into the files of a client: {show_path(cwd)}",
            hint="rename the folder; Binnacle itself works in it",
        )
    ours = {"type": "stdio", "command": bn_command(), "args": ["-C", cwd, "mcp", "serve", "--session", plan.session]}
    others = allowed_entries(plan.upstreams, cwd) if plan.upstreams else {}
    name = free_server_name(cwd, taken=others)
    return SessionServers(name, {name: ours, **others})


def _make_context(plan: SessionPlan) -> SessionContext:
    return SessionContext(
        session=plan.session,
        recipe=plan.recipe,
        discipline=plan.discipline,
        feature=plan.feature,
        task=plan.task,
        input=plan.input,
        enabled_tools=tuple(tool.name for tool in plan.tools),
        disabled_tools=tuple(plan.disabled),
        tokens={"prompt": plan.prompt.tokens, "tools": plan.tool_tokens},
        catalog=plan.catalog,
        schema=PLAN_FORMAT_VERSION,
        limits=plan.limits,
    )


def _json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def _checksums(text: str) -> list[int]:
    return [zlib.crc32(line.encode()) for line in text.split("\n")]
