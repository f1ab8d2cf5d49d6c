"""Limits on the complexity of JSON. No real message exceeds them, and deeper nesting would overflow a stack."""

import re
from itertools import accumulate

MAX_DEPTH = 128
"""Levels of nesting. The arguments of real tools have about ten."""

MAX_CONTAINERS = 250_000
"""Lists and objects. Each takes some hundred bytes in memory, but only two in the text."""

MAX_PIECES = 20_000
"""Pieces of 64 strings each, for the same reason."""

TOO_COMPLEX = f"nested deeper than {MAX_DEPTH} levels, or of too many parts"

_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_IN_STRINGS = re.compile(_STRING, re.DOTALL)
_PIECE = re.compile(rb'(?:[^"]{1,4096}+|%b){1,64}+' % _STRING, re.DOTALL)
"""A piece of a text that does not end within a string, and is short except for its strings, so memory stays small."""

_OTHERS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = tuple({"[": 1, "{": 1, "]": -1, "}": -1}.get(chr(byte), 0) for byte in range(256))


def is_too_complex(data: bytes) -> bool:
    """Whether JSON exceeds these limits. For text that is not JSON, the result is arbitrary."""
    # Nearly every message has fewer brackets than allowed levels.
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
