"""Starts `bn run` as a process of its own, which does not end with the process that started it.

Each start has a folder: the order of the person, the specification that they wrote, and what the run prints. The run
holds a lock on its output for as long as it lives, so that anybody can see whether it does, also after a restart of the
page. Nothing else connects the two: the run is found in the store by its name.
"""

import asyncio
import contextlib
import os
import re
import shlex
import shutil
import subprocess
import threading
from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec
from msgspec import Struct

from binnacle.app.client_launch import INHERITED
from binnacle.app.run_order import RunOrder, command_of, name_in
from binnacle.app.trust_review import look
from binnacle.config.child_environment import for_command
from binnacle.config.file_lock import try_lock
from binnacle.config.private_files import make_new_private_folder, make_private_folder, private_opener
from binnacle.errors import GitError, InvalidInput, NotFound
from binnacle.git.command import Git
from binnacle.project.project import Project
from binnacle.project.workspace import workspace_of
from binnacle.runner.agents.agent_commands import AgentCommand, resolve_agent

ORDER_FILE = "order.json"
OUTPUT_FILE = "output.log"
SPECIFICATION_FILE = "specification.md"

MAX_KEPT_STARTS = 20
MAX_SHOWN_BYTES = 64 << 10
MAX_CHANGED_FILES = 200

USED_KINDS = ("setting", "hook", "check", "template", "recipe")
"""What of a project a run uses, if a person trusts it."""

_START_ID = re.compile(r"[0-9]{8}T[0-9]{6}-[0-9a-f]{6}")


class EffectOfTrust(Struct, frozen=True, kw_only=True):
    """Something of the project that a run would use, and whether it has an effect."""

    key: str
    does: str
    place: str
    state: str
    """`trusted`; `new` or `changed` if it has no effect."""


class RunStartPreview(Struct, frozen=True, kw_only=True):
    """What starting a run would do."""

    command: str
    """As a shell takes it."""

    folder: str
    agent: str
    """The command of the agent."""

    approve: str
    trust: tuple[EffectOfTrust, ...]
    changed_files: tuple[str, ...]
    """Files in the folder that are not committed."""


class StartedRun(Struct, frozen=True, kw_only=True):
    """A run that was started, and what it printed."""

    id: str
    name: str
    command: str
    started_at: datetime
    is_alive: bool
    output: str
    """The end of what it printed."""

    error: str = ""
    """Why it did not start, if it printed that."""

    hint: str = ""


class _KeptStart(Struct, frozen=True, kw_only=True):
    """What is written down of a start."""

    order: RunOrder
    command: list[str]
    started_at: datetime


async def preview_start(project: Project, workspace: str, order: RunOrder) -> RunStartPreview:
    """What starting a run would do, without doing it.

    Raises:
        AgentStart: the agent is not installed.
        InvalidInput: something in the order is wrong.
    """
    agent = _find_agent(project, order)
    found = (await asyncio.to_thread(look, project)).standings
    return RunStartPreview(
        command=shlex.join(command_of(order, workspace, spec_path=SPECIFICATION_FILE)),
        folder=workspace,
        agent=shlex.join(agent.argv),
        approve=order.approve or project.settings.text("run.approve") or "edits",
        trust=tuple(
            EffectOfTrust(key=one.item.key, does=one.item.does, place=one.item.place, state=one.state)
            for one in found
            if one.item.kind in USED_KINDS
        ),
        changed_files=await _list_changed(workspace_of(project, workspace)),
    )


def _find_agent(project: Project, order: RunOrder) -> AgentCommand:
    settings = project.settings
    words = order.agent or settings.text("run.agent")
    if not words:
        hint = "choose one, or set one for the project: bn config set run.agent goose"
        raise InvalidInput("no agent given", hint=hint)
    return resolve_agent(words, model=order.model or settings.text("run.model") or None)


def start_run(project: Project, workspace: str, order: RunOrder) -> StartedRun:
    """Starts a run. It goes on when this process ends.

    Raises:
        AgentStart: the agent is not installed.
        InvalidInput: something in the order is wrong.
    """
    _find_agent(project, order)
    now = datetime.now(UTC)
    start_id = f"{now:%Y%m%dT%H%M%S}-{os.urandom(3).hex()}"
    folder = os.path.join(_starts(project), start_id)
    make_private_folder(_starts(project))
    _remove_old(project)
    make_new_private_folder(folder)
    spec_path = os.path.join(folder, SPECIFICATION_FILE)
    command = command_of(order, workspace, spec_path=spec_path)
    if order.specification:
        _write(spec_path, order.specification.encode())
    kept = _KeptStart(order=order, command=command, started_at=now)
    _write(os.path.join(folder, ORDER_FILE), msgspec.json.encode(kept))
    with open(os.path.join(folder, OUTPUT_FILE), "ab", opener=private_opener) as output:
        try_lock(output.fileno())  # the child has the lock as soon as it has the descriptor
        process = subprocess.Popen(
            command,
            cwd=workspace,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    # The thread takes the exit status, so that no dead process is left as long as this one lives.
    threading.Thread(target=process.wait, daemon=True, name=f"run {start_id}").start()
    return read_start(project, start_id)


def read_start(project: Project, start_id: str) -> StartedRun:
    """A run that was started, whether it lives, and what it printed.

    Raises:
        NotFound: there was no such start, or it was long ago.
    """
    if not _START_ID.fullmatch(start_id):
        raise NotFound(f"no start {start_id[:40]!r}", hint="see the runs")
    folder = os.path.join(_starts(project), start_id)
    try:
        with open(os.path.join(folder, ORDER_FILE), "rb") as file:
            kept = msgspec.json.decode(file.read(), type=_KeptStart)
        with open(os.path.join(folder, OUTPUT_FILE), "rb") as file:
            is_alive = not try_lock(file.fileno(), is_shared=True)
            file.seek(max(0, os.fstat(file.fileno()).st_size - MAX_SHOWN_BYTES))
            output = file.read(MAX_SHOWN_BYTES).decode("utf-8", "replace")
    except (OSError, msgspec.DecodeError) as error:
        raise NotFound(f"no start {start_id!r}", hint="the newest ones are kept; see the runs") from error
    said = {} if is_alive else _find_error(output)
    return StartedRun(
        id=start_id,
        name=name_in(kept.command),
        command=shlex.join(kept.command),
        started_at=kept.started_at,
        is_alive=is_alive,
        output=output,
        error=str(said.get("message", "")),
        hint=str(said.get("hint", "")),
    )


def find_order(project: Project, name: str) -> RunOrder | None:
    """What was ordered when a run of this name was started last, if it was started here."""
    for start_id in sorted(_list_starts(project), reverse=True):
        with contextlib.suppress(OSError, msgspec.DecodeError):
            with open(os.path.join(_starts(project), start_id, ORDER_FILE), "rb") as file:
                kept = msgspec.json.decode(file.read(), type=_KeptStart)
            if name_in(kept.command) == name:
                return kept.order
    return None


def _environment() -> dict[str, str]:
    """What `bn` gets when a person starts it: not the identity of an agent."""
    return {name: value for name, value in for_command(os.environ).items() if name not in INHERITED}


async def _list_changed(folder: str) -> tuple[str, ...]:
    """The files that are not committed; none outside of git."""
    try:
        return tuple((await Git(folder).list_changed())[:MAX_CHANGED_FILES])
    except GitError:
        return ()


def _find_error(output: str) -> Mapping[str, object]:
    """The error with which `bn` ended, if it did: its last line that is JSON."""
    for line in reversed(output.splitlines()[-5:]):
        with contextlib.suppress(msgspec.DecodeError):
            found = msgspec.json.decode(line)
            if isinstance(found, dict) and isinstance(found.get("error"), dict):
                return dict(found["error"])
    return {}


def _starts(project: Project) -> str:
    return os.path.join(project.data_dir, "starts")


def _list_starts(project: Project) -> list[str]:
    try:
        return [name for name in os.listdir(_starts(project)) if _START_ID.fullmatch(name)]
    except FileNotFoundError:
        return []


def _remove_old(project: Project) -> None:
    """Removes the oldest starts whose runs have ended."""
    for start_id in sorted(_list_starts(project))[: -MAX_KEPT_STARTS + 1]:
        with contextlib.suppress(NotFound, OSError):
            if not read_start(project, start_id).is_alive:
                shutil.rmtree(os.path.join(_starts(project), start_id))


def _write(path: str, content: bytes) -> None:
    with open(path, "wb", opener=private_opener) as file:
        file.write(content)
