"""Runs the hooks of a project. Values reach them by environment and standard input, never inside a command."""

import asyncio
import os
import tempfile
import time
from collections.abc import Sequence
from functools import partial

import msgspec
from msgspec import Struct

from binnacle.config.child_environment import for_development
from binnacle.config.trust import is_trusted
from binnacle.processes.keeper import CannotStart, Keeper
from binnacle.runner.hooks.hook_file import Hook, HookEvent, trust_item_of

OUTPUT_TAIL_BYTES = 16 << 10
"""Bytes kept of a hook's output, from its end, which says what went wrong."""

MAX_VALUE_CHARACTERS = 16 << 10
"""Characters of a value in the environment, where space is limited; standard input has all of it."""

STOP_GRACE_SECONDS = 1.0
DRAIN_SECONDS = 1.0
"""Seconds to read the pipe after the hook has ended; a process that it left behind may keep the pipe open."""


class HookInput(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The context that a hook gets."""

    run: str = ""
    session: str = ""
    iteration: int | None = None
    task_id: str = ""
    task_title: str = ""
    error: str = ""
    attention_id: str = ""
    attention_kind: str = ""
    """Why something waits for a person: permission, question, review, stuck or ended."""

    attention_title: str = ""


class HookOutcome(Struct, frozen=True, kw_only=True):
    """The result of a hook."""

    hook: Hook
    code: int | None = None
    """Its exit code, negative for a signal; None if it did not end by itself or never ran."""

    output: str = ""
    """The end of what it wrote to standard output and standard error."""

    fault: str = ""
    """Why it did not run to its end: not trusted, cannot be started, or took too long."""

    seconds: float = 0

    @property
    def is_ok(self) -> bool:
        return self.code == 0 and not self.fault

    @property
    def stops(self) -> bool:
        """Whether it ends the run."""
        return self.hook.required and not self.is_ok

    @property
    def description(self) -> str:
        """The outcome in a line."""
        code = self.code or 0
        how = self.fault or (f"ended by signal {-code}" if code < 0 else f"exit code {code}")
        return f"{self.hook.name} ({self.hook.words}): {'ok' if self.is_ok else how}"


class HookRunner:
    """The hooks of a run."""

    def __init__(self, keeper: Keeper, hooks: Sequence[Hook], *, repo: str) -> None:
        """`repo` is the project in which they were trusted."""
        self._keeper = keeper
        self._hooks = tuple(hooks)
        self._repo = repo

    async def run(self, event: HookEvent, about: HookInput, *, cwd: str) -> list[HookOutcome]:
        """Runs the hooks of an event one after the other, in `cwd`, until one stops the run.

        If the worker's tree is already gone, they run in the project. Cancelling ends the running hook with everything
        it started.
        """
        outcomes: list[HookOutcome] = []
        cwd = cwd if os.path.isdir(cwd) else self._repo
        for hook in (one for one in self._hooks if one.event == event):
            if is_trusted(self._repo, trust_item_of(hook)):
                outcomes.append(await run_hook(self._keeper, hook, about, cwd=cwd))
            else:
                hint = f"nobody has trusted it; look at it with: bn trust hook:{hook.name}"
                outcomes.append(HookOutcome(hook=hook, fault=hint))
            if outcomes[-1].stops:
                break
        return outcomes


def output_for_agent(outcomes: Sequence[HookOutcome]) -> str:
    """The output of hooks as text for the agent; empty if there is none."""
    parts = []
    for one in outcomes:
        if one.hook.pipe_output and (one.output.strip() or not one.is_ok):
            said = one.output.strip() or "(it wrote nothing)"
            parts.append(f"$ {one.hook.words}\n{said}" + ("" if one.is_ok else f"\n[{one.description}]"))
    return "\n\n".join(parts)


async def run_hook(keeper: Keeper, hook: Hook, about: HookInput, *, cwd: str) -> HookOutcome:
    """Runs one hook to its end or its deadline. Cancelling ends it with everything it started."""
    begun = time.monotonic()
    output = _Tail()
    code, fault = None, ""
    try:
        code = await _run(keeper, hook, about, cwd, output)
    except CannotStart as error:
        fault = f"cannot be started: {error.message}"
    except TimeoutError:
        fault = f"took longer than {hook.timeout:g} s and was ended"
    return HookOutcome(hook=hook, code=code, output=output.text, fault=fault, seconds=time.monotonic() - begun)


async def _run(keeper: Keeper, hook: Hook, about: HookInput, cwd: str, output: "_Tail") -> int:
    loop = asyncio.get_running_loop()
    drained: asyncio.Future[None] = loop.create_future()
    ours, theirs = os.pipe()
    reading = partial(_Reading, output, drained)
    transport, _ = await loop.connect_read_pipe(reading, os.fdopen(ours, "rb", buffering=0))
    process = None
    try:
        async with asyncio.timeout(hook.timeout):
            try:
                with tempfile.TemporaryFile() as given:
                    given.write(msgspec.json.encode({"hook": hook.event, **msgspec.to_builtins(about)}))
                    given.seek(0)
                    env = for_development(os.environ) | environment_of(hook, about)
                    process = await keeper.start(
                        hook.command, env=env, cwd=cwd, stdin=given.fileno(), stdout=theirs, stderr=theirs
                    )
            finally:
                os.close(theirs)
            code = await process.wait()
        await asyncio.wait([drained], timeout=DRAIN_SECONDS)
        return code
    finally:
        if process is not None:
            await process.end(grace=STOP_GRACE_SECONDS if process.returncode is None else 0)
        transport.close()


def environment_of(hook: Hook, about: HookInput) -> dict[str, str]:
    """The environment of a hook."""
    values = {
        "BN_HOOK": hook.event,
        "BN_RUN_NAME": about.run,
        "BN_RUN_SESSION": about.session,
        "BN_ITERATION": "" if about.iteration is None else str(about.iteration),
        "BN_TASK_ID": about.task_id,
        "BN_TASK_TITLE": about.task_title,
        "BN_ERROR": about.error,
        "BN_ATTENTION_ID": about.attention_id,
        "BN_ATTENTION_KIND": about.attention_kind,
        "BN_ATTENTION_TITLE": about.attention_title,
    }
    return {name: _fitting(value) for name, value in values.items()}


def _fitting(value: str) -> str:
    return value[:MAX_VALUE_CHARACTERS].replace("\0", "").encode(errors="replace").decode()


class _Tail:
    """The end of a stream."""

    def __init__(self) -> None:
        self._kept = bytearray()
        self._is_cut = False

    def add(self, data: bytes) -> None:
        self._kept += data
        if len(self._kept) > 2 * OUTPUT_TAIL_BYTES:
            self._is_cut = True
            del self._kept[:-OUTPUT_TAIL_BYTES]

    @property
    def text(self) -> str:
        kept = bytes(self._kept[-OUTPUT_TAIL_BYTES:])
        is_cut = self._is_cut or len(self._kept) > OUTPUT_TAIL_BYTES
        return ("…\n" if is_cut else "") + kept.decode(errors="replace")


class _Reading(asyncio.Protocol):
    def __init__(self, tail: _Tail, drained: "asyncio.Future[None]") -> None:
        self._tail = tail
        self._drained = drained

    def data_received(self, data: bytes) -> None:
        self._tail.add(data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - the end is the end
        if not self._drained.done():
            self._drained.set_result(None)
