"""Titles of tasks that mean the same: equal up to case, punctuation, small words, plurals and a small typo.

Two titles are compared word by word. A *plain word* is a word of a language: it loses its case, its hyphens and its
plural. Everything else is a *name*: a number, a version, an identifier, a word in quotes. Names are never close to each
other: `v1` and `v2`, `user` and `users` in quotes, `task_add` and `task_get` are different things.

Typos are only looked for in one long plain word. Short words that differ by a letter usually mean something else
(`form` and `from`, `one` and `ore`), and so do words that differ in a consonant (`remote` and `remove`), at the
beginning or at the end (`manage` and `manager`).

A *sketch* is a coarse key: titles that mean the same have the same sketch, so that a database finds the few candidates
by an index. Equal sketches do not suffice: `is_same_title` decides.
"""

import re
from typing import NamedTuple

from binnacle.work.text import fold

SMALL_WORDS = frozenset(("a", "an", "the", "of", "for", "to", "and", "please"))

MIN_DOUBLED_LETTERS = 6
"""Letters of a word in which a letter may be doubled by mistake: `adress`."""

MIN_SWAPPED_LETTERS = 7
"""Letters of a word in which two neighbours may be swapped: `recieve`."""

MIN_VOWEL_LETTERS = 8
"""Letters of a word in which a vowel may be missing or wrong: `calender`."""

_VOWELS = frozenset("aeiouy")
_OUTER = ".,;:!?()[]{}<>…«»"
_QUOTES = "\"'`“”‘’„"
_SEPARATORS = frozenset("-–—:;,.…&|/•" + _QUOTES)
_PLAIN = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_CAMEL = re.compile(r"[a-z][A-Z]")


class TitleWord(NamedTuple):
    """A word of a title, as it is compared."""

    text: str
    is_plain: bool
    """Whether it is a word of a language, in which a typo is possible."""


def sketch_title(title: str) -> str:
    """A coarse key of a title: equal for titles that mean the same, and for a few others."""
    return " ".join(_sketch(word) for word in _split_title(title)) or fold(title)


def is_same_title(a: str, b: str) -> bool:
    """Whether two titles mean the same."""
    if fold(a) == fold(b):
        return True
    ours, theirs = _split_title(a), _split_title(b)
    if not ours or len(ours) != len(theirs):
        return False
    pairs = [(one, other) for one, other in zip(ours, theirs, strict=True) if one.text != other.text]
    if not pairs:
        return True
    one, other = pairs[0]
    return len(pairs) == 1 and one.is_plain and other.is_plain and _is_typo(one.text, other.text)


def _split_title(title: str) -> list[TitleWord]:
    is_shouted = title.isupper()
    found = []
    for place, raw in enumerate(title.split()):
        bare = raw.strip(_OUTER + _QUOTES)
        if not bare:
            if not _SEPARATORS.issuperset(raw):
                found.append(TitleWord(raw, is_plain=False))
            continue
        is_quoted = any(mark in raw for mark in _QUOTES if mark not in bare)
        is_letter = len(bare) == 1 and bare.isupper() and place > 0 and not is_shouted
        if is_quoted or is_letter or not _PLAIN.fullmatch(bare) or _CAMEL.search(bare):
            found.append(TitleWord(bare.casefold(), is_plain=False))
            continue
        word = bare.casefold().replace("-", "").replace("'", "").replace("’", "")
        if word not in SMALL_WORDS:
            found.append(TitleWord(_singular(word), is_plain=True))
    return found


def _singular(word: str) -> str:
    """An English word without the ending of its plural."""
    if len(word) <= 3 or not word.isascii():
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _sketch(word: TitleWord) -> str:
    """A word without what a typo changes: vowels, and the order and number of its inner letters."""
    text = word.text
    if not word.is_plain or len(text) < MIN_DOUBLED_LETTERS or text.upper() == text:
        return text
    first, last = text[0], text[-1]
    return f"{first}{''.join(sorted(set(text) - _VOWELS - {first, last}))}{last}"


def _is_typo(a: str, b: str) -> bool:
    """Whether two words are one, with a letter doubled, two swapped, or a vowel missing or wrong, but not at an end."""
    shorter = min(len(a), len(b))
    if shorter < MIN_DOUBLED_LETTERS or a.upper() == a or (a[0], a[-1]) != (b[0], b[-1]):
        return False
    start = 0
    while a[start : start + 1] == b[start : start + 1] and start < shorter:
        start += 1
    end = 0
    while end < shorter - start and a[-1 - end] == b[-1 - end]:
        end += 1
    left, right = sorted((a[start : len(a) - end], b[start : len(b) - end]), key=len)
    if len(left) == len(right) == 2:
        return left == right[::-1] and shorter >= MIN_SWAPPED_LETTERS
    if len(right) != 1:
        return False
    if not left and right in (a[start - 1], a[len(a) - end : len(a) - end + 1]):
        return True
    return _VOWELS.issuperset(left + right) and shorter >= MIN_VOWEL_LETTERS
