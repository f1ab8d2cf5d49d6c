"""Who runs `bn`: the shell that started it, and the agent that started the shell.

    agent → shell → bn

Not every tree looks like this. A shell with a single command becomes that command (`bash -c
'bn orient'` leaves no bash), so the parent of `bn` may be the agent itself. A shell may fork, so
that one shell is two processes. And the parent of a shell may be a terminal or the shell in
its window, which are not agents and must not be ended.
"""

from collections.abc import Sequence
from typing import NamedTuple

from binnacle.lifecycle.process import Process

SHELLS = frozenset(
    ("ash", "bash", "busybox", "csh", "dash", "elvish", "fish", "ksh", "mksh", "nu", "pwsh", "sh", "tcsh",
     "xonsh", "zsh")
)  # fmt: skip

RUNNERS = frozenset(("time", "timeout", "uv"))
"""Programs that run another one and wait for it; they may be between a shell and `bn`."""

TERMINALS_AND_EDITORS = frozenset(
    ("init", "launchd", "systemd", "tini", "dumb-init", "docker-init", "conmon", "cron", "crond", "login", "su", "sudo",
     "doas", "screen", "SCREEN", "zellij", "konsole", "xterm", "alacritty", "kitty", "foot", "ghostty", "terminator",
     "xfce4-terminal", "Terminal", "code", "cursor", "Cursor", "zed", "zed-editor")
)  # fmt: skip
"""Parents of a person's shell: the system, logins, terminals, and terminals of editors. None is an agent."""

TERMINAL_AND_EDITOR_PREFIXES = (
    "sshd",
    "tmux",
    "containerd-shim",
    "gnome-terminal",
    "wezterm",
    "iTerm",
    "Code Helper",
    "Relay(",
)
"""The same, for names that end with something that varies."""


class ShellCaller(NamedTuple):
    """The two processes that run `bn`."""

    shell: Process
    """The process that started `bn`."""

    agent: Process
    """The process to end with the agent: the parent of the shell, or the shell itself if its parent is not an agent."""


def find_caller(above: Sequence[Process]) -> ShellCaller | None:
    """The caller, from the ancestors of `bn`, the nearest first; None if there are none."""
    found = [process for process in above if process.name not in RUNNERS]
    if not found:
        return None
    while len(found) > 1 and _is_fork(found[0], of=found[1]):
        found.pop(0)
    shell = found[0]
    if not _is_shell(shell) or len(found) == 1 or is_terminal_or_editor(found[1]):
        return ShellCaller(shell, shell)
    return ShellCaller(shell, found[1])


def find_client(above: Sequence[Process]) -> Process | None:
    """The client that started an MCP server, from the ancestors of the server, the nearest first.

    None if no ancestor is a client: a person's shell, a terminal, an editor or the system started it. People start
    their own programs from these too, so they identify no agent.
    """
    found = find_caller(above)
    if found is None or is_terminal_or_editor(found.agent) or (_is_shell(found.agent) and found.agent == found.shell):
        return None
    return found.agent


def _is_fork(process: Process, *, of: Process) -> bool:
    return _is_shell(process) and bool(process.command) and process.command == of.command


def _is_shell(process: Process) -> bool:
    # `-zsh` is a login shell, `ksh93` and `zsh-5.9` are versions.
    return any(name.lstrip("-").rstrip("0123456789.-") in SHELLS for name in (process.name, process.program))


def is_terminal_or_editor(process: Process) -> bool:
    """Whether people start their own programs from it: a terminal, an editor, the system. It is not an agent."""
    return (
        _is_window(process)
        or process.name in TERMINALS_AND_EDITORS
        or process.name.startswith(TERMINAL_AND_EDITOR_PREFIXES)
    )


def _is_window(process: Process) -> bool:
    """Whether it is the shell that a person types into, and not one that runs a script on its own terminal."""
    first, *rest = process.command.split()[1:] or [""]
    is_script = bool(first) and not first.startswith("-")
    is_script |= any(word.startswith("-") and not word.startswith("--") and "c" in word for word in (first, *rest[:2]))
    return process.leads_terminal and _is_shell(process) and not is_script
