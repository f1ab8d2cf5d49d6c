"""Watches which tests an agent runs by itself, and the exit codes that its client reports."""

from collections import OrderedDict
from typing import Any

from binnacle.runner.agents.call_details import command_of
from binnacle.wire import acp
from binnacle.work.observation import MAX_COMMAND_CHARACTERS, MAX_OBSERVED, ObservedCommand, is_test_command

MAX_CALLS = 200
"""Calls whose command is remembered until they end."""

_EXIT_CODES = ("exit_code", "exitCode", "exit", "returncode", "returnCode", "return_code")
"""Names that the shell tools of agents give to it."""

_MAX_DEPTH = 3
_CHANGES = ("edit", "delete", "move")


class ObservedCommands:
    """The tests that an agent ran since it last changed a file, as far as its client says how they ended."""

    def __init__(self) -> None:
        self._begun: OrderedDict[str, str] = OrderedDict()
        self._ended: OrderedDict[str, int] = OrderedDict()

    @property
    def found(self) -> tuple[ObservedCommand, ...]:
        """Each command with its last exit code, the last ones of them."""
        newest = list(self._ended.items())[-MAX_OBSERVED:]
        return tuple(ObservedCommand(command, code) for command, code in newest)

    def see(self, call: acp.ToolCallFields) -> None:
        """Takes what the agent says of a call."""
        if call.kind in _CHANGES:
            self._ended.clear()  # what was tested before is other code
        if command := command_of(call.raw_input):
            self._begun[call.tool_call_id] = command
            if len(self._begun) > MAX_CALLS:
                self._begun.popitem(last=False)
        command = self._begun.get(call.tool_call_id, "")
        code = find_exit_code(call)
        if code is None or not command or len(command) > MAX_COMMAND_CHARACTERS or not is_test_command(command):
            return
        self._ended.pop(command, None)
        self._ended[command] = code
        if len(self._ended) > MAX_CALLS:
            self._ended.popitem(last=False)


def find_exit_code(call: acp.ToolCallFields) -> int | None:
    """The exit code that a client reports with a call, the worst if there are several; None if it reports none."""
    codes = [*_codes_in(call.raw_output), *_codes_in(call.meta)]
    return max(codes, key=abs) if codes else None


def _codes_in(value: Any, depth: int = 0) -> list[int]:
    if not isinstance(value, dict) or depth > _MAX_DEPTH:
        return []
    own = [value[name] for name in _EXIT_CODES if isinstance(value.get(name), int)]
    codes = [int(one) for one in own if not isinstance(one, bool)]
    return codes + [code for part in value.values() for code in _codes_in(part, depth + 1)]
