"""What each key of a server's entry may hold, and the errors for other values.

A reader takes a JSON value and returns a value of the types in `server_config`, or raises `WrongValue`.
No message repeats a value that may be a secret.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from binnacle.errors import did_you_mean

Reader = Callable[[Any], Any]

_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CALLED = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}


class WrongValue(Exception):
    """A value that a key may not have."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def json_type_of(value: Any) -> str:
    """The JSON type of a value."""
    return _CALLED.get(type(value), "a number")


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise WrongValue(f"expected a string, not {json_type_of(value)}")
    if "\0" in value:
        raise WrongValue("a NUL character is in it", "take it out")
    if not is_unicode(value):
        raise WrongValue("it is not Unicode text", "save it as UTF-8, and check the variables in it")
    return value


def is_unicode(value: str) -> bool:
    """Whether a text can be encoded: no half of a surrogate pair, no bytes from a broken environment."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        hint = 'write each word as a string of its own: ["one", "two"]' if isinstance(value, str) else ""
        raise WrongValue(f"expected a list of strings, not {json_type_of(value)}", hint)
    for number, one in enumerate(value, 1):
        if not isinstance(one, str | int | float) or isinstance(one, bool):
            raise WrongValue(f"expected a list of strings, but item {number} is {json_type_of(one)}")
    return tuple(text(str(one)) for one in value)


def scopes(value: Any) -> tuple[str, ...]:
    """A list, or words in one string as OAuth writes them."""
    return tuple(value.split()) if isinstance(value, str) else texts(value)


def mapping(value: Any) -> dict[str, str]:
    """Names to strings; a number becomes text."""
    if not isinstance(value, Mapping):
        raise WrongValue(f"expected an object of strings, not {json_type_of(value)}", '{"NAME": "value"}')
    for name, one in value.items():
        if not isinstance(one, str | int | float) or isinstance(one, bool):
            raise WrongValue(f"{name}: expected a string, not {json_type_of(one)}")
    return {str(name): text(str(one)) for name, one in value.items()}


def environment(value: Any) -> dict[str, str]:
    found = mapping(value)
    for name in found:
        if not name or "=" in name or "\0" in name:
            raise WrongValue(f"no name of an environment variable: {_begin(name)}", '{"NAME": "value"}')
    return found


def headers(value: Any) -> dict[str, str]:
    found = mapping(value)
    for name, one in found.items():
        header(name)
        if re.search(r"[\r\n]", one):
            raise WrongValue(f"{name}: a line break is in it", "a header is one line; does the variable end with one?")
    return found


def header(value: Any) -> str:
    name = text(value)
    if not _HEADER.fullmatch(name):
        raise WrongValue(f"no name of a header: {_begin(name)}", '{"X-Name": "value"}')
    return name


def _begin(name: str) -> str:
    """The beginning of a name: some people write the value, and so a secret, right after it."""
    begin = re.split(r"[^\w.-]", name)[0]
    return repr(begin if begin == name else f"{begin}…")


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise WrongValue(f"expected true or false, not {json_type_of(value)}")
    return value


def seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise WrongValue(f"expected a number of seconds, not {json_type_of(value)}")
    if not 0 < value <= _LONGEST:
        hint = f"it is in seconds: {value / 1000:g}" if value >= 1000 else f"a number up to {_LONGEST}"
        raise WrongValue(f"expected more than 0 and at most {_LONGEST} seconds, not {value:g}", hint)
    return float(value)


_LONGEST = 3600
"""Seconds. More are probably milliseconds copied from elsewhere; progress can extend a call anyway."""


def count(*, least: int) -> Reader:
    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise WrongValue(f"expected a whole number, not {json_type_of(value)}")
        if value < least:
            raise WrongValue(f"expected at least {least}, not {value}")
        return value

    return read


def choice(choices: Mapping[str, str]) -> Reader:
    """One of several words, with the value of each."""

    def read(value: Any) -> str:
        word = text(value)
        if word not in choices:
            expected = ", ".join(dict.fromkeys(choices.values()))
            raise WrongValue(f"expected one of {expected}, not {word!r}", did_you_mean(word, list(choices)))
        return choices[word]

    return read


def url(*schemes: str) -> Reader:
    """An absolute URL. Messages do not repeat it: some URLs contain keys."""
    expected = " or ".join(f"{scheme}://" for scheme in schemes)

    def read(value: Any) -> str:
        given = text(value)
        try:
            parts = urlsplit(given)
            has_host = bool(parts.hostname) and (parts.port is None or parts.port > 0)
        except ValueError as error:
            raise WrongValue("not a URL: its host or port cannot be read", f"{schemes[-1]}://host:port/path") from error
        if parts.scheme not in schemes:
            raise WrongValue(f"expected a URL with {expected}", f"{schemes[-1]}://host/path")
        if not has_host or re.search(r"[\s\x00-\x1f\x7f]", given):
            problem = "no host is in it" if not has_host else "a space is in it"
            raise WrongValue(f"not a URL: {problem}", f"{schemes[-1]}://host/path")
        return given

    return read
