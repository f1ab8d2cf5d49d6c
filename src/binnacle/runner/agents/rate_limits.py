"""Recognises in an agent's output that its provider takes no more requests or does not answer, and how long to wait.

The Agent Client Protocol has no code for it: agents pass on the text of their provider, each in its own words.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

MAX_WAIT_SECONDS = 24 * 3600.0
"""Seconds. We do not believe a provider that names a longer wait."""

LAST_ERROR_LINES = 8
"""Last lines of an agent's standard error that may give the reason of its end."""

MAX_SEARCHED_CHARACTERS = 8000
"""Characters of an error that are searched."""

MAX_SENTENCE_CHARACTERS = 400
"""Characters of an answer that may be only an error. A longer answer may mention rate limits as a subject."""


@dataclass(frozen=True, kw_only=True)
class RateLimit:
    """A provider takes no requests for now, or does not answer."""

    after: float | None
    """Seconds to wait, if it says."""


_SIGNS = re.compile(
    r"""\b429\b | too[ _-]many[ _-]requests | rate[ _-]?limit(?!er|ing\b) | \boverloaded | \b529\b
    | resource[ _]exhausted | quota[ _](?:was[ _])?exceeded | exceeded[ ]your[ ](?:current[ ])?quota
    | insufficient_quota | usage[ ]limit[ ](?:was[ ])?(?:reached|exceeded) | hit[ ]your[ ](?:usage[ ])?limit
    | (?:at|over)[ ]capacity | server[ ]is[ ]busy""",
    re.IGNORECASE | re.VERBOSE,
)
_OUTAGE_SIGNS = re.compile(
    r"""(?:\b|_)(?:http|status|code|error)\W{0,4}50[0234]\b | \b50[234]\b\W{1,3}[a-z]
    | service[ ](?:is[ ])?(?:temporarily[ ])?unavailable | bad[ ]gateway | gateway[ ]time-?out
    | internal[ ]server[ ]error | \bECONN(?:REFUSED|RESET|ABORTED)\b | \bE(?:TIMEDOUT|AI_AGAIN|HOSTUNREACH|NETUNREACH)\b
    | \bENOTFOUND\b | connection[ ](?:error|refused|reset|aborted|timed[ ]out|closed[ ]by) | socket[ ]hang[ ]up
    | fetch[ ]failed | network[ ](?:error|is[ ]unreachable) | could[ ]not[ ]connect | error[ ]sending[ ]request
    | upstream[ ]connect[ ]error | failure[ ]in[ ]name[ ]resolution | request[ ]timed[ ]out""",
    re.IGNORECASE | re.VERBOSE,
)
"""Signs that the provider, or the way to it, is down."""

_SENTENCE = re.compile(
    r"""^\W*(?:(?:(?:api[ ]?)?error|(?:request|stream|turn)[ ]failed)\b.{0,40})?
    (?:\b429\b | \b529\b | overloaded_error | too[ ]many[ ]requests | resource[ _]exhausted
    | (?:you['\u2019]ve[ ])?(?:hit|reached|exceeded)[ ]your[ ].{0,20}(?:limit|quota)
    | rate[ _]limit[ ](?:exceeded|reached|hit) | (?:\w+[ ])?usage[ ]limit[ ](?:reached|exceeded)
    | (?:5-hour|weekly)[ ]limit)
    | ^\W*(?:api[ ]?)?error\W{1,3}(?:50[0234]\b | connection[ ]error | fetch[ ]failed | network[ ]error)
    | ^\W*50[0234]\W{1,3}(?:internal|bad[ ]gateway|service[ ]unavailable|gateway)
    | ^\W*(?:connection[ ]error|fetch[ ]failed|network[ ]error|service[ ]unavailable)\W*$""",
    re.IGNORECASE | re.VERBOSE,
)
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PIECE = r"\d+(?:\.\d+)?\s*(?:milliseconds?|seconds?|minutes?|hours?|days?|msecs?|secs?|mins?|hrs?|ms|s|m|h|d)(?![a-z])"
_SPAN = re.compile(
    rf"(?:in|after|for|wait|within|delay\W+|resets?\s+in)\s*:?\W*((?:{_PIECE}[\s,]*(?:and\s+)?)+)", re.IGNORECASE
)
_HEADER = re.compile(
    r"""retry[-_ ]?after(?P<ms>[-_ ]?ms)?(?:[-_ ]?seconds?)?["'\\]*\s*[:=]\s*["'\\]*"""
    r"(?P<value>\d+(?:\.\d+)?|\w{3}, [\w: ]+GMT)",
    re.IGNORECASE,
)
_RESETS = re.compile(
    r"(?:resets?|limit reached)\W+(?:at\W+)?(\d{10}|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d)?)", re.IGNORECASE
)


def limit_in_error(message: str, data: Any = None, *, now: datetime | None = None) -> RateLimit | None:
    """The rate limit in an agent's error, if there is one."""
    text = f"{message[:MAX_SEARCHED_CHARACTERS]}\n{_flat(data)[:MAX_SEARCHED_CHARACTERS]}"
    return RateLimit(after=_wait(text, now)) if _SIGNS.search(text) or _OUTAGE_SIGNS.search(text) else None


def limit_in_words(text: str, *, now: datetime | None = None) -> RateLimit | None:
    """The rate limit in an agent's complete answer. Some agents send it as text instead of an error."""
    if len(text) > MAX_SENTENCE_CHARACTERS or not _SENTENCE.search(text.strip()):
        return None
    return RateLimit(after=_wait(text, now))


def limit_in_log(tail: str, *, now: datetime | None = None) -> RateLimit | None:
    """The rate limit in the last output of an agent that ended."""
    return limit_in_error("\n".join(tail.splitlines()[-LAST_ERROR_LINES:]), now=now)


def _wait(text: str, now: datetime | None) -> float | None:
    """How long to wait, if the text says so in a known form."""
    now = now or datetime.now(UTC)
    told = _by_header(text, now) or _by_span(text) or _by_moment(text, now)
    return told if told is not None and 0 < told <= MAX_WAIT_SECONDS else None


def _by_header(text: str, now: datetime) -> float | None:
    if not (found := _HEADER.search(text)):
        return None
    value = found["value"]
    if value[0].isdigit():
        return float(value) / (1000 if found["ms"] else 1)
    try:
        return (parsedate_to_datetime(value) - now).total_seconds()
    except ValueError:
        return None


def _by_span(text: str) -> float | None:
    if not (found := _SPAN.search(text)):
        return None
    pieces = re.findall(r"(\d+(?:\.\d+)?)\s*([a-z]+)", found[1], re.IGNORECASE)
    return sum(float(number) * _UNITS[_unit(word.lower())] for number, word in pieces)


def _unit(word: str) -> str:
    return "ms" if word.startswith(("ms", "milli")) else word[0]


def _by_moment(text: str, now: datetime) -> float | None:
    if not (found := _RESETS.search(text)):
        return None
    if found[1].isdigit():
        return float(found[1]) - now.timestamp()
    try:
        moment = datetime.fromisoformat(found[1])
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - now.timestamp()


def _flat(data: Any, depth: int = 0) -> str:
    """An error's data as text to search: `name: value` per line."""
    if isinstance(data, Mapping) and depth < 5:
        return "\n".join(f"{name}: {_flat(value, depth + 1)}" for name, value in data.items())
    if isinstance(data, list | tuple) and depth < 5:
        return "\n".join(_flat(value, depth + 1) for value in data[:50])
    return str(data)[:4000] if data is not None else ""
