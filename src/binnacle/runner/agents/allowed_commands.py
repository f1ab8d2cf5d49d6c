"""Which shell commands of an agent are those that a person has trusted: the commands of the project's checks.

Nothing is parsed, because what a shell makes of a text is more than we could parse. The few texts that run exactly a
trusted command are built from it, and a request is allowed only if it is one of them:

- the command itself;
- the command in the shell that an agent always starts: Codex sends `/bin/bash -lc 'make test'`;
- one of these after `cd` into the folder of the agent's session, which agents like to add.

So a command with `;`, `&&`, a pipe, a redirection, a variable or another line added to it is another text. A request
that says anything we do not know about how the command is run is not allowed either. For an agent that sends a command
only as the title of its call, which a model may have written, no request is allowed.
"""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from binnacle.runner.agents.changed_paths import is_inside
from binnacle.runner.agents.permissions import PermissionRequest

SHELLS = tuple(f"{place}{shell}" for shell in ("bash", "zsh", "sh") for place in ("", "/bin/", "/usr/bin/"))
SHELL_OPTIONS = ("-lc", "-c")

COMMAND_KEYS = ("command", "cmd")
FOLDER_KEYS = ("cwd", "workdir", "working_directory", "workingDirectory", "directory", "dir_path")
HARMLESS_KEYS = frozenset(
    {
        *("description", "reason", "justification", "explanation", "commands", "parsed_cmd", "mode"),
        *("timeout", "timeout_ms", "timeout_secs", "timeout_seconds", "initial_wait"),
        *("run_in_background", "is_background", "isBackground"),
    }
)
"""Keys of an input that change nothing of what is run: words about it, how long to wait for it."""

_PLAIN = re.compile(r"[\w ./:=@%+,-]+", re.ASCII)
"""Texts that mean the same within double quotes."""

_BLANKS = " \t\n"
"""What is trimmed. A shell takes other spaces for a part of a word."""


class AllowedCommands:
    """The commands that an agent may run without asking."""

    def __init__(self, commands: Sequence[str]) -> None:
        self._commands = tuple(commands)

    def has(self, request: PermissionRequest) -> bool:
        """Whether a request runs one of the commands, in the folder of the agent's session or below it."""
        if not self._commands or request.kind != "execute" or not isinstance(request.input, dict):
            return False
        given: Mapping[str, Any] = {key: value for key, value in request.input.items() if value not in (None, "", {})}
        if not given.keys() <= {*COMMAND_KEYS, *FOLDER_KEYS, *HARMLESS_KEYS}:
            return False
        texts = [text for key in COMMAND_KEYS if key in given and (text := _as_text(given[key])) is not None]
        folders = [given[key] for key in FOLDER_KEYS if key in given]
        if len(texts) != 1 or not all(is_inside(one, request.folder) for one in (*request.folders, *folders)):
            return False
        return any(texts[0] in _texts_for(command, request.folder) for command in self._commands)


def folders_in(given: Any) -> tuple[str, ...]:
    """The folders that an input, or what comes with a call, says to run in."""
    if not isinstance(given, dict):
        return ()
    inner = given.get("terminal_info")
    return (*(str(given[key]) for key in FOLDER_KEYS if given.get(key)), *(folders_in(inner) if inner else ()))


def _as_text(command: Any) -> str | None:
    """A command as a text; some agents send its words."""
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        return shlex.join(command)
    return command.strip(_BLANKS) if isinstance(command, str) else None


def _texts_for(command: str, folder: str) -> Iterator[str]:
    """Every text that runs a command, and nothing else, in a folder."""
    places = [f"cd {quoted} && " for quoted in _quotings(folder)] if folder else []
    for text in [command, *(f"{place}{command}" for place in places)]:
        yield text
        for shell in SHELLS:
            for option in SHELL_OPTIONS:
                yield from (f"{shell} {option} {quoted}" for quoted in _quotings(text))


def _quotings(text: str) -> Iterator[str]:
    """A text as one word of a shell."""
    yield shlex.quote(text)
    if _PLAIN.fullmatch(text):
        yield f"'{text}'"
        yield f'"{text}"'
