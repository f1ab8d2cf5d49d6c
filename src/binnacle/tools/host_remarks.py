"""Removes remarks of a host that name tools which the session lacks.

A script host serves many sessions and does not know their tools. Some fields of its answers are *remarks*: what was
cut, and which call returns the rest. A remark, like a hint, consists of independent parts separated by `; `. A part
that names a tool which the session lacks is removed, and the others stay.
"""

from collections.abc import Callable
from typing import Any

REMARKS = frozenset({"hint", "more", "moreFrames", "moreLocals", "notes", "outputCut", "resultCut"})
"""Fields that a host writes itself. Output and values of a program are in other fields."""

Worded = Callable[[str], str]
"""Removes text that names a tool which the session lacks, and shows other tools by the session's names."""

SEPARATOR = "; "


def fit_text(text: str, worded: Worded) -> str:
    """A hint or a remark with only the parts that fit the session."""
    return SEPARATOR.join(filter(None, (worded(part) for part in text.split(SEPARATOR))))


def fit_remarks(node: Any, worded: Worded) -> Any:
    """Data of a host with its remarks fitted. Remarks that become empty are removed."""
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
