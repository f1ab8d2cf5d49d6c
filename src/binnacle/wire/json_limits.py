"""How JSON may be made up. What is nested deeper serves nobody, and ends somewhere in a stack too short for it."""

import re
from itertools import accumulate

MAX_DEPTH = 128
"""Levels of what a request carries. The arguments of real tools have about ten."""

MAX_CONTAINERS = 250_000
"""Lists and objects of it. Each is some hundred bytes in memory, and one may be written in two."""

MAX_PIECES = 20_000
"""Of 64 strings each: the same for texts."""

TOO_COMPLEX = f"nested deeper than {MAX_DEPTH} levels, or of too many parts"

_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_IN_STRINGS = re.compile(_STRING, re.DOTALL)
_PIECE = re.compile(rb'(?:[^"]{1,4096}+|%b){1,64}+' % _STRING, re.DOTALL)
"""A part of a text that ends in no string, and is short but for its strings: memory stays small for any text."""

_OTHERS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = tuple({"[": 1, "{": 1, "]": -1, "}": -1}.get(chr(byte), 0) for byte in range(256))


def is_too_complex(data: bytes) -> bool:
    """Whether JSON is beyond these bounds. Of text that is no JSON it may say either."""
    # Nearly every message has fewer brackets than it may have levels, wherever they are.
    if data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return False
    depth = brackets_seen = 0
    for number, piece in enumerate(_PIECE.finditer(data)):
        brackets = _IN_STRINGS.sub(b"", piece[0]).translate(None, _OTHERS)
        brackets_seen += len(brackets)
        if number > MAX_PIECES or brackets_seen > 2 * MAX_CONTAINERS:
            return True
        depths = list(accumulate(map(_STEPS.__getitem__, brackets), initial=depth))
        if max(depths) > MAX_DEPTH:
            return True
        depth = depths[-1]
    return False
