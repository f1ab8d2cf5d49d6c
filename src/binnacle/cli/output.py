"""For whom `bn` writes: people or programs.

The command line decides (`-H` or `--json`), then the person's setting `output`. Otherwise each stream decides for
itself: in front of a terminal is a person, behind a pipe or a file a program. So `bn ready | jq` gets JSON, and if it
fails, the person at the terminal reads a sentence.

What a person has in their file is not for their agents, which run as the same user and were told to expect JSON.
"""

import os
from collections.abc import Sequence
from typing import Literal, TextIO

from binnacle.errors import ConfigError

Format = Literal["human", "json"]

HUMAN_HELP = "for people, also in a pipe"
JSON_HELP = "JSON, also on a terminal"

_OPTIONS: dict[str, Format] = {"-H": "human", "--human": "human", "--json": "json"}


def find_asked(words: Sequence[str]) -> Format | None:
    """What a command line asks for, where it could not be parsed: the last such option before a bare `--`."""
    before = words[: words.index("--")] if "--" in words else words
    return next((_OPTIONS[word] for word in reversed(before) if word in _OPTIONS), None)


def is_for_person(asked: Format | None, stream: TextIO | None) -> bool:
    """Whether what is written to `stream` is for a person to read."""
    chosen = asked or _find_preference()
    if chosen != "auto":
        return chosen == "human"
    return stream is not None and stream.isatty()


def _find_preference() -> str:
    from binnacle.config.settings import SETTINGS, find_personal

    try:
        found = find_personal("output")
    except ConfigError:
        return "auto"  # a command that reads settings says what is wrong, and one that repairs them must not fail
    if found == "auto" or os.environ.get(SETTINGS["output"].variable):
        return found
    from binnacle.lifecycle.agent_detection import find_agent_above

    return "auto" if find_agent_above() else found
