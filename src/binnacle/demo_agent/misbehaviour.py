"""Misbehaviour on demand, so that whoever runs agents can be tested: `WORD[=ARGUMENT][@TURN][:once]`.

`crash@2` crashes in the second turn, counted over all processes that share a state directory; `hang:once` hangs the
first time only. Several are separated by commas.
"""

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

from msgspec import Struct

from binnacle.errors import UsageError, did_you_mean
from binnacle.wire.jsonrpc import INTERNAL_ERROR, RpcError

WORDS = {
    "hang": "in a turn, with a task in hand; hears neither cancel nor SIGTERM",
    "hang-start": "never answers initialize",
    "crash": "ends with code 3 in a turn, with a task in hand",
    "crash-start": "ends with code 3 instead of answering initialize",
    "flood": "sends 100 MB of updates; flood=line sends one line of 40 MiB",
    "junk": "writes lines to standard output that are no messages, then works",
    "stderr-flood": "writes 50 MB to standard error, then works",
    "loop": "makes the same failing tool call for ever",
    "never-summarise": "does the work, but never writes the summary",
    "no-op": "ends the turn without doing anything",
    "second-task": "tries to start a second task in the iteration",
    "re-exec": "starts itself again in a session of its own, behind a wrapper that only waits",
    "orphan": "leaves a child process in a session of its own; its id is in orphan.pid of the state directory",
    "rate-limit": "answers the first N prompts with a rate limit (1)",
    "ask": "sets its task to needs_input with a question",
    "slow": "waits S seconds before every step (0.1)",
}

_FORM = re.compile(r"([a-z-]+)(?:=([^@:]+))?(?:@(\d+))?(:once)?")
_CHUNK = 64 << 10


class Misdeed(Struct, frozen=True, kw_only=True):
    """One thing to do wrong, and when."""

    word: str
    argument: str = ""
    turn: int = 0
    """Only in this turn; 0 for every one."""

    once: bool = False


def parse(text: str) -> list[Misdeed]:
    """What `--misbehave` asks for.

    Raises:
        UsageError: naming the words that there are.
    """
    found: list[Misdeed] = []
    for part in filter(None, (one.strip() for one in text.split(","))):
        form = _FORM.fullmatch(part)
        if form is None or form[1] not in WORDS:
            hint = did_you_mean(form[1] if form else part, list(WORDS))
            raise UsageError(f"no such misbehaviour: {part!r}", hint=hint)
        found.append(Misdeed(word=form[1], argument=form[2] or "", turn=int(form[3] or 0), once=bool(form[4])))
    return found


class Misbehaviour:
    """What this process does wrong. Turns and what was done once are kept as files of the state directory."""

    def __init__(self, misdeeds: Sequence[Misdeed], folder: str) -> None:
        self._misdeeds = misdeeds
        self._folder = folder
        self.turn = 0

    def next_turn(self) -> None:
        """Counts a turn."""
        if self._misdeeds:
            self.turn = next(number for number in range(1, 1_000_000) if self._first(f"turn-{number}"))

    def asks_for(self, word: str) -> Misdeed | None:
        """Whether to misbehave so now. What is asked for once is not asked for again."""
        for one in self._misdeeds:
            if one.word == word and one.turn in (0, self.turn) and (not one.once or self._first(f"once-{word}")):
                return one
        return None

    def _first(self, mark: str) -> bool:
        """Whether nobody was here before, in any process."""
        os.makedirs(self._folder, exist_ok=True)
        try:
            os.close(os.open(os.path.join(self._folder, mark), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            return False
        return True

    def at_start(self) -> None:
        """Before anything else: becomes a wrapper around itself."""
        if "BN_DEMO_WRAPPED" not in os.environ and self.asks_for("re-exec"):
            child = subprocess.Popen(
                [sys.executable, "-m", "binnacle.demo_agent", *sys.argv[1:]],
                env={**os.environ, "BN_DEMO_WRAPPED": "1"},
                start_new_session=True,
            )
            os.close(0)
            os.close(1)
            sys.exit(child.wait())

    def at_initialize(self) -> None:
        if self.asks_for("hang-start"):
            _hang()
        if self.asks_for("crash-start"):
            _crash("the demo agent was told to crash at its start")

    async def at_prompt(self, write: Callable[[bytes], None]) -> None:
        """At the beginning of a turn. `write` puts bytes on standard output."""
        if limit := self.asks_for("rate-limit"):
            wanted = int(limit.argument or 1)
            if any(self._first(f"rate-limit-{number}") for number in range(1, wanted + 1)):
                data = {"status": 429, "retryAfter": 1}
                raise RpcError(INTERNAL_ERROR, "429 Too Many Requests: rate limit reached, try again in 1s", data)
        if self.asks_for("junk"):
            write(b'this is no message\n{"neither": "is this"}\n[1, 2\n\xff\xfe\n\n')
        if self.asks_for("stderr-flood"):
            await asyncio.to_thread(_flood_stderr)
        if self.asks_for("orphan"):
            self._leave_orphan()

    def _leave_orphan(self) -> None:
        nothing = subprocess.DEVNULL
        child = subprocess.Popen(
            ["sleep", "600"], start_new_session=True, stdin=nothing, stdout=nothing, stderr=nothing
        )
        with open(os.path.join(self._folder, "orphan.pid"), "w", encoding="ascii") as file:
            file.write(str(child.pid))

    def at_work(self) -> None:
        """In the middle of a turn: something was begun and nothing of it is finished."""
        if self.asks_for("hang"):
            _hang()
        if self.asks_for("crash"):
            _crash("the demo agent was told to crash")

    async def at_step(self) -> None:
        """Before every step."""
        if slow := self.asks_for("slow"):
            await asyncio.sleep(float(slow.argument or 0.1))


def _hang() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.write(2, b"the demo agent was told to hang\n")
    while True:
        time.sleep(60)


def _crash(words: str) -> None:
    sys.stderr.write(f"{words}\n")
    sys.stderr.flush()
    os._exit(3)


def _flood_stderr() -> None:
    line = b"x" * (_CHUNK - 1) + b"\n"
    for _ in range(50_000_000 // _CHUNK):
        os.write(2, line)
