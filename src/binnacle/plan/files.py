"""The files of a session: what it may do, what its agent reads, and how a client reaches its tools.

They are written together by renaming a finished folder into place. Beside them lies a check sum of every line, so
that a file changed by hand is noticed and the line named: the plan is what the server enforces, not what the file says.
"""

import os
import shutil
import sys
import zlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from binnacle.errors import Refused
from binnacle.plan.session import SCHEMA, SessionPlan

CONTEXT, PROMPT, CONFIG, CHECKS = "context.json", "prompt.md", "mcp.json", "checks.json"


class Context(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What `context.json` holds."""

    session: str
    recipe: str
    discipline: str | None = None
    feature: str | None = None
    task: str | None = None
    enabled_tools: tuple[str, ...]
    disabled_tools: tuple[str, ...]
    tokens: Mapping[str, int]
    catalog: str
    schema: int


class Kept(NamedTuple):
    """Where the files of a session are."""

    context: str
    prompt: str
    config: str


def paths(folder: str) -> Kept:
    """The files of the session kept in `folder`."""
    return Kept(*(os.path.join(folder, name) for name in (CONTEXT, PROMPT, CONFIG)))


def write(folder: str, plan: SessionPlan, *, cwd: str) -> Kept:
    """Writes the files of a session, all or none; others see the old ones or the new ones."""
    texts = {
        CONTEXT: _json(_context(plan)),
        PROMPT: plan.prompt.text,
        CONFIG: _json(client_config(plan, cwd=cwd)),
    }
    texts[CHECKS] = _json({name: _sums(text) for name, text in texts.items()})
    os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
    new = f"{folder}.{os.getpid()}.new"
    shutil.rmtree(new, ignore_errors=True)
    os.mkdir(new, mode=0o700)
    for name, text in texts.items():
        with open(os.path.join(new, name), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
    _put(new, folder)
    return paths(folder)


def _put(new: str, folder: str) -> None:
    """Puts the new folder in the place of the old one. What else the old one holds, as a transcript, moves over."""
    old = f"{folder}.{os.getpid()}.old"
    if os.path.isdir(folder):
        for name in os.listdir(folder):
            if not os.path.exists(os.path.join(new, name)):
                os.link(os.path.join(folder, name), os.path.join(new, name))
        os.rename(folder, old)
    os.rename(new, folder)
    shutil.rmtree(old, ignore_errors=True)


def read(folder: str) -> Context:
    """The context of the session kept in `folder`."""
    path = paths(folder).context
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(), type=Context)
    except (OSError, msgspec.DecodeError) as error:
        raise Refused(f"cannot read {path}: {error}", hint="start a new session") from error


def check(folder: str) -> None:
    """Makes sure that no file was changed since it was written.

    Raises:
        Refused: with the file, the line and what it says now.
    """
    sums = _read_sums(folder)
    for name, known in sums.items():
        path = os.path.join(folder, name)
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                lines = file.read().splitlines()
        except OSError as error:
            raise _edited(path, f"cannot be read: {error.strerror}") from error
        for number, (line, expected) in enumerate(zip(lines, known, strict=False), 1):
            if zlib.crc32(line.encode()) != expected:
                raise _edited(path, f"line {number} is not as it was written: {line.strip()[:120]!r}")
        if len(lines) != len(known):
            raise _edited(path, f"has {len(lines)} lines; {len(known)} were written")


def _read_sums(folder: str) -> dict[str, list[int]]:
    path = os.path.join(folder, CHECKS)
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(), type=dict[str, list[int]])
    except (OSError, msgspec.DecodeError) as error:
        raise _edited(path, f"cannot be read: {error}") from error


def _edited(path: str, how: str) -> Refused:
    return Refused(
        f"the plan was edited: {path} {how}",
        hint="put what you want into a recipe or the discipline, and start a new session; "
        f"'bn plan renew {os.path.basename(os.path.dirname(path))}' writes this one anew",
        details={"file": path},
    )


def client_config(plan: SessionPlan, *, cwd: str) -> dict[str, Any]:
    """A client's `--mcp-config`: our server, serving this plan, and the discipline's own servers."""
    command = shutil.which("bn") or os.path.join(os.path.dirname(sys.executable), "bn")
    ours = {"type": "stdio", "command": command, "args": ["-C", cwd, "mcp", "serve", "--session", plan.session]}
    return {"mcpServers": {"binnacle": ours, **plan.upstreams}}


def _context(plan: SessionPlan) -> Context:
    return Context(
        session=plan.session,
        recipe=plan.recipe,
        discipline=plan.discipline,
        feature=plan.feature,
        task=plan.task,
        enabled_tools=tuple(tool.name for tool in plan.tools),
        disabled_tools=tuple(plan.disabled),
        tokens={"prompt": plan.prompt.tokens, "tools": plan.tool_tokens},
        catalog=plan.catalog,
        schema=SCHEMA,
    )


def _json(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def _sums(text: str) -> list[int]:
    return [zlib.crc32(line.encode()) for line in text.splitlines()]
