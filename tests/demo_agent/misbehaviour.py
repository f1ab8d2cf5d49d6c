"""Misbehaviour on demand, so that whoever runs agents can be tested: `WORD[=ARGUMENT][@TURN][:once]`.

`crash@2` crashes in the second turn, counted over all processes that share a state directory; `hang:once` hangs the
first time only. Several are separated by commas.
"""

import os
import re
from collections.abc import Sequence

from msgspec import Struct

from binnacle.errors import UsageError, did_you_mean

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
    "stdio-only": "says that it takes MCP servers on stdio only",
    "slow": "waits S seconds before every step (0.1)",
}

_FORM = re.compile(r"([a-z-]+)(?:=([^@:]+))?(?:@(\d+))?(:once)?")


class Misdeed(Struct, frozen=True, kw_only=True):
    """One thing to do wrong, and when."""

    word: str
    argument: str = ""
    turn: int = 0
    """Only in this turn; 0 for every one."""

    once: bool = False


def parse_misdeeds(text: str) -> list[Misdeed]:
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
    """What this process is told to do wrong. Turns, and what was done once, are files in the state directory."""

    def __init__(self, misdeeds: Sequence[Misdeed], folder: str) -> None:
        self._misdeeds = misdeeds
        self.folder = folder
        self.turn = 0

    def next_turn(self) -> None:
        """Counts a turn."""
        if self._misdeeds:
            self.turn = next(number for number in range(1, 1_000_000) if self.is_first(f"turn-{number}"))

    def asks_for(self, word: str) -> Misdeed | None:
        """Whether to misbehave so now. What is asked for once is not asked for again."""
        for one in self._misdeeds:
            if one.word == word and one.turn in (0, self.turn) and (not one.once or self.is_first(f"once-{word}")):
                return one
        return None

    def is_first(self, mark: str) -> bool:
        """Whether nobody was here before, in any process."""
        os.makedirs(self.folder, exist_ok=True)
        try:
            os.close(os.open(os.path.join(self.folder, mark), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except FileExistsError:
            return False
        return True
