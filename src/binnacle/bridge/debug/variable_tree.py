"""Variables of a program, as far as they fit into an answer, and how to get the rest."""

from typing import Any

from msgspec import Struct

from binnacle.bridge.debug.adapter_dialects import is_worth_a_look
from binnacle.bridge.debug.dap import AdapterRefused
from binnacle.bridge.debug.debug_target import DebugTarget

MAX_VALUE_CHARACTERS = 300
"""Characters of one value."""

MAX_SHOWN_MEMBERS = 25
"""Members of one variable that are shown among others."""


class AnswerBudget(Struct):
    """How much of the variables an answer may show."""

    items: int
    size: int
    """Characters, about."""

    @property
    def is_spent(self) -> bool:
        return self.items <= 0 or self.size <= 0

    def take(self, size: int) -> bool:
        """Uses room for one more. Returns whether there was enough."""
        self.items -= 1
        self.size -= size
        return self.items >= 0 and self.size >= 0


async def describe_locals(target: DebugTarget, frame: int, budget: AnswerBudget) -> dict[str, Any]:
    """The variables of a frame's function, as fields of an answer."""
    _, number = target.session.references.take("frame", frame)
    room = AnswerBudget(items=budget.items, size=budget.size)
    shown: list[dict[str, Any]] = []
    try:
        scopes = _local(await target.ask_scopes(number))
        if not scopes:
            return {}
        for scope in scopes:
            reference = int(scope["variablesReference"])
            found = await fetch_members(target, reference)
            count = _show(target, found, shown, room)
            if left := len(found) - count:
                ours = target.session.references.give("variables", target, reference)
                how = f"{left}; debug_get_variable with variablesReference={ours} start={count} has them"
                return {"locals": shown, "moreLocals": how}
    except (AdapterRefused, TimeoutError):
        return {"locals": shown} if shown else {}
    return {"locals": shown}


def _local(scopes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The local scopes: in JavaScript, where every block has one, up to that of the function."""
    for index, one in enumerate(scopes):
        if "local" in str(one.get("name", "")).lower():
            return scopes[: index + 1]
    return scopes[:1]


def _show(target: DebugTarget, found: list[dict[str, Any]], shown: list[dict[str, Any]], room: AnswerBudget) -> int:
    """Adds variables while there is room. Returns how many."""
    for count, one in enumerate(found):
        result = describe_variable(target, one)
        if not room.take(len(result["name"]) + len(result["value"]) + 40):
            return count
        shown.append(result)
    return len(found)


async def fetch_members(
    target: DebugTarget, reference: int, *, start: int = 0, count: int | None = None, only: str | None = None
) -> list[dict[str, Any]]:
    """Members of a variable, or a page of them.

    A page is requested only for members of one kind: adapters differ in how they page a mixture.
    """
    arguments: dict[str, Any] = {"variablesReference": reference}
    pages = only is not None and count is not None and target.adapter != "debugpy"
    if only is not None:
        arguments["filter"] = only
    if pages:
        arguments |= {"start": start, "count": count}
    answer = await target.ask("variables", timeout=10, **arguments)
    found: list[dict[str, Any]] = answer.get("variables") or []
    if pages:
        return found[:count]
    return found[start:] if count is None else found[start : start + count]


def describe_variable(target: DebugTarget, variable: dict[str, Any]) -> dict[str, Any]:
    """A variable as in an answer."""
    value = str(variable.get("value", ""))
    result: dict[str, Any] = {"name": str(variable.get("name", "")), "value": value[:MAX_VALUE_CHARACTERS]}
    if len(value) > MAX_VALUE_CHARACTERS:
        result["valueCut"] = len(value) - MAX_VALUE_CHARACTERS
    if kind := variable.get("type"):
        result["type"] = kind
    if number := variable.get("variablesReference"):
        result["variablesReference"] = target.session.references.give("variables", target, int(number))
    return result


async def describe_tree(target: DebugTarget, reference: int, *, depth: int, room: AnswerBudget) -> dict[str, Any]:
    """Members of a variable and their members, level by level: with little room, names come before details."""
    top: dict[str, Any] = {}
    level: list[tuple[dict[str, Any], int]] = [(top, reference)]
    for deep in range(depth):
        following: list[tuple[dict[str, Any], int]] = []
        for node, number in level:
            if room.is_spent:
                return top
            following += await _grow(target, node, number, room, is_scope=deep == 0)
        level = following
    return top


async def _grow(
    target: DebugTarget, node: dict[str, Any], reference: int, room: AnswerBudget, *, is_scope: bool
) -> list[tuple[dict[str, Any], int]]:
    """Adds members to a node. Returns those that have members themselves."""
    try:
        found = await fetch_members(target, reference)
    except AdapterRefused:
        return []
    limit = len(found) if is_scope else MAX_SHOWN_MEMBERS
    shown = node["variables"] = []
    grown = []
    for one in found[:limit]:
        result = describe_variable(target, one)
        if not room.take(len(result["name"]) + len(result["value"]) + 40):
            break
        shown.append(result)
        if (number := one.get("variablesReference")) and is_worth_a_look(one):
            grown.append((result, int(number)))
    if left := len(found) - len(shown):
        ours = target.session.references.give("variables", target, reference)
        node["more"] = f"{left}; debug_get_variable with variablesReference={ours} start={len(shown)} has them"
    return grown
