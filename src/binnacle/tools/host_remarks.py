"""Keeps what a host says beside its data to the tools that its reader has.

A host of the bridge serves many sessions and knows the tools of none. Some fields of its answers are *remarks*: what
was cut, and the call that has the rest. A remark, like a hint, is made of parts with `; ` between them, each of which
stands alone. So a part that names a tool which the session lacks is left out, and the others stay.
"""

from collections.abc import Callable
from typing import Any

REMARKS = frozenset({"hint", "more", "moreFrames", "moreLocals", "notes", "outputCut", "resultCut"})
"""Fields in which a host speaks itself; what a program wrote or holds is in others."""

Worded = Callable[[str], str]
"""Leaves out what names a tool that the session does not have, and shows the others by the names it knows."""

SEPARATOR = "; "


def fit_text(text: str, worded: Worded) -> str:
    """A hint or a remark, in the parts that hold in the session."""
    return SEPARATOR.join(filter(None, (worded(part) for part in text.split(SEPARATOR))))


def fit_remarks(node: Any, worded: Worded) -> Any:
    """Data of a host with its remarks fitted; one of which nothing is left is left out."""
    if isinstance(node, list):
        return [fit_remarks(one, worded) for one in node]
    if not isinstance(node, dict):
        return node
    found = {key: _fit_field(key, value, worded) for key, value in node.items()}
    return {key: value for key, value in found.items() if key not in REMARKS or value not in ("", [])}


def _fit_field(key: str, value: Any, worded: Worded) -> Any:
    if key not in REMARKS:
        return fit_remarks(value, worded)
    if isinstance(value, str):
        return fit_text(value, worded)
    if isinstance(value, list):
        return [fitted for one in value if (fitted := fit_text(one, worded) if isinstance(one, str) else one)]
    return value
