"""Renders the hint of an error for an agent: what to do next with the tools that its session has.

An agent may have no shell, and a plan may leave it eight tools out of fifty. So a step is shown with the first of its
calls that the session can make, under the session's name for the tool; otherwise with `bn_run`; otherwise in words
alone. A step that only a person can take says so and shows the command.
"""

from collections.abc import Mapping, Sequence

import msgspec

from binnacle.errors import BinnacleError, Flag, NextStep, SuggestedCall
from binnacle.tools.exposed_tool import ExposedTool

RUNS_COMMANDS = "bn_run"
"""The tool that runs any `bn` command."""


def render_hint(error: BinnacleError, exposed: Sequence[ExposedTool], *, called: str) -> str:
    """The hint of `error` for an agent that has the tools `exposed` and called one of them as `called`."""
    tools = {one.spec.name: one for one in reversed(exposed)}
    parameters = next((_parameters(one) for one in exposed if called in _names(one)), ())
    shown = (_render(step, tools, parameters) for step in error.next_steps)
    return "; ".join(text for text in shown if text)


def _render(step: str | NextStep | Flag, tools: Mapping[str, ExposedTool], parameters: Sequence[str]) -> str:
    if isinstance(step, str):
        return step
    if isinstance(step, Flag):  # only a tool with that parameter can skip the check
        return f"{step.name}: true {step.words}" if step.name in parameters else ""
    if step.for_person:
        return f"ask a person to {step}"
    if way := _find_call(step, tools):
        return f"{step.words}: {way}"
    if step.optional:
        return ""
    return step.words if step.calls or not step.command else f"ask a person to {step}"


def _find_call(step: NextStep, tools: Mapping[str, ExposedTool]) -> str:
    """The call with which an agent that has these tools takes the step; empty if it cannot."""
    for call in step.calls:
        one = tools.get(call.tool)
        if one is not None and call.arguments.keys() <= set(_parameters(one)):
            return _format_call(one, call)
    runs = tools.get(RUNS_COMMANDS)
    if runs is None or not step.command:
        return ""
    import shlex

    return _format_call(runs, SuggestedCall(RUNS_COMMANDS, {"args": shlex.split(step.command)}))


def _format_call(one: ExposedTool, call: SuggestedCall) -> str:
    """A call as text: the name of the tool and its arguments."""
    renames = one.alias.renames if one.alias else {}
    arguments = {renames.get(name, name): value for name, value in call.arguments.items()}
    return f"{one.name} {msgspec.json.encode(arguments).decode()}" if arguments else one.name


def _parameters(one: ExposedTool) -> tuple[str, ...]:
    return one.spec.parameters.__struct_fields__


def _names(one: ExposedTool) -> tuple[str, ...]:
    return one.name, one.spec.name, *(alias.name for alias in one.spec.aliases)
