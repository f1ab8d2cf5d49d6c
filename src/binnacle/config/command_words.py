"""The words of a command that a project's file names. No shell reads it, unless it names one itself."""

import re
import shlex
from collections.abc import Iterator
from contextlib import suppress

import msgspec

from binnacle.errors import ConfigError

EXAMPLE = '["sh", "-c", "make lint | tail -20"]'

_SHELL = re.compile(r"[|&;<>()]+")
_EXPANDED = re.compile(r"[$`]")


def command_words(given: str | list[str], place: str) -> tuple[str, ...]:
    """The words of a command that is written at `place`, as one text or as a list of words.

    Raises:
        ConfigError: it is empty, its quotes are open, or it is a text that needs a shell.
    """
    words = _split(given, place) if isinstance(given, str) else given
    if not words or not words[0]:
        raise ConfigError(f"{place}: there is no command", hint=f"write a program and its arguments, or {EXAMPLE}")
    return tuple(words)


def _split(text: str, place: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise ConfigError(f"{place}: {error}: {text!r}", hint="close the quotes") from error
    if sign := next(_for_shell(text), None):
        hint = f"ask for one: {msgspec.json.encode(['sh', '-c', text]).decode()}"
        raise ConfigError(f"{place}: {sign!r} needs a shell, and no shell reads this: {text!r}", hint=hint)
    return words


def _for_shell(text: str) -> Iterator[str]:
    """The part of a command that needs a shell."""
    lexer = shlex.shlex(text, posix=False, punctuation_chars="|&;<>()")
    lexer.whitespace_split, lexer.commenters = True, ""
    with suppress(ValueError):  # a quote within a word, where this lexer would end the word
        for token in lexer:
            if found := _SHELL.fullmatch(token) or (not token.startswith("'") and _EXPANDED.search(token)):
                yield found[0]
