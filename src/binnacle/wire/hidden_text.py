"""Text that others wrote, made fit to be read: what a reader cannot see is found, removed or spelled out."""

import re
from collections import Counter

_KINDS = {
    "terminal sequences": r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))",
    "control characters": r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufff9-\ufffb]|\r(?!\n)",
    "bidirectional controls": r"[\u061c\u200e\u200f\u202a-\u202e\u2066-\u206f]",
    "zero-width characters": r"[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200d\u2060-\u2065\u3164"
    r"\u2800\ufeff\uffa0\ufff0-\ufff8\U00013430-\U0001345f\U00016fe4\U0001bca0-\U0001bca3\U0001d159"
    r"\U0001d173-\U0001d17a]",
    "private characters": r"[\ue000-\uf8ff\ufdd0-\ufdef\ufffe\uffff\U000e1000-\U0010ffff]",
    "tag characters": r"[\U000e0000-\U000e00ff\U000e01f0-\U000e0fff]",
    # One of the last two after a character picks its picture or its plain form, and is everywhere.
    "variation selectors": r"[\ufe00-\ufe0d\U000e0100-\U000e01ef]|(?<=[\ufe00-\ufe0f])[\ufe0e\ufe0f]",
}
_HIDDEN = re.compile("|".join(f"({pattern})" for pattern in _KINDS.values()))


def describe_hidden(text: str) -> str:
    """What is hidden in a text, counted; empty if nothing is."""
    if text.isprintable() and text.isascii():
        return ""
    kinds = tuple(_KINDS)
    counts = Counter(kinds[(match.lastindex or 1) - 1] for match in _HIDDEN.finditer(text))
    return ", ".join(f"{count} {kind}" for kind, count in counts.items())


def remove_hidden(text: str) -> str:
    """The text without anything hidden."""
    if text.isprintable() and text.isascii():
        return text
    # Twice: removing a character can bring together two selectors that it had kept apart.
    return _HIDDEN.sub("", _HIDDEN.sub("", text))


def make_readable(text: str, longest: int) -> str:
    """The text without anything hidden, and at most `longest` characters of it."""
    beginning = text[: 2 * longest]  # the text may be endless, and half of this may be hidden
    shown = remove_hidden(beginning)
    return shown if len(shown) <= longest and len(beginning) == len(text) else f"{shown[:longest]} … [cut]"


def make_visible(text: str) -> str:
    """Text with everything invisible escaped, for people."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one == "\n" else f"\\u{{{ord(one):x}}}" for one in text)
