"""Who runs `bn`, told from the processes above it."""

import pytest

from binnacle.lifecycle.process import Process
from binnacle.lifecycle.shell_caller import find_caller


def tree(*names: str) -> list[Process]:
    """Processes above `bn`, the nearest first: a name, `name/program`, or `name|command line`; `!` leads a terminal."""
    found = []
    for number, text in enumerate(names):
        name, _, command = text.rstrip("!").partition("|")
        name, _, program = name.partition("/")
        found.append(
            Process(
                pid=100 - number,
                started=f"host/0/0/{100 - number}",
                parent_pid=99 - number,
                name=name,
                program=program or name,
                command=command or f"{name} of {number}",
                leads_terminal=text.endswith("!"),
            )
        )
    return found


@pytest.mark.parametrize(
    ("above", "shell", "agent"),
    [
        # agent → shell → bn
        (["bash", "claude", "bash"], "bash", "claude"),
        (["zsh", "node", "fish"], "zsh", "node"),
        (["-zsh", "codex"], "-zsh", "codex"),
        (["ksh93", "goose"], "ksh93", "goose"),
        (["sh/dash", "opencode"], "sh", "opencode"),
        (["deploy.sh/bash", "claude"], "deploy.sh", "claude"),
        # a shell that became bn: the agent itself is the parent
        (["codex", "bash", "sshd"], "codex", "codex"),
        (["python3", "make"], "python3", "python3"),
        # something that runs bn and waits stands between
        (["timeout", "bash", "claude"], "bash", "claude"),
        (["uv", "bash", "timeout", "claude"], "bash", "claude"),
        # a shell that forked is one shell
        (["bash|bash -c (bn orient)", "bash|bash -c (bn orient)", "gemini"], "bash", "gemini"),
        # a person's shell: what is above it is no agent
        (["bash", "tmux: server", "systemd"], "bash", "bash"),
        (["bash", "sshd-session", "sshd"], "bash", "bash"),
        (["zsh", "gnome-terminal-", "systemd"], "zsh", "zsh"),
        (["fish", "code", "systemd"], "fish", "fish"),
        (["bash", "systemd"], "bash", "bash"),
        # the shell in a window is nobody's agent, whatever runs under it
        (["work.sh/bash", "bash|-bash!", "sshd"], "work.sh", "work.sh"),
        (["work.sh/bash", "bash|bash --init-file x!", "node"], "work.sh", "work.sh"),
        # but a script that was given a terminal of its own may be
        (["bash", "agents.sh/bash|bash ./agents.sh claude!", "tmux"], "bash", "agents.sh"),
        (["bash", "bash|bash -lc ./agents.sh!", "sshd"], "bash", "bash"),
        # nothing above at all, as the first process of a container
        (["bash"], "bash", "bash"),
        (["claude"], "claude", "claude"),
    ],
)
def test_the_shell_and_the_agent_are_told_apart(above, shell, agent):
    found = find_caller(tree(*above))
    assert (found.shell.name, found.agent.name) == (shell, agent)
    assert (found.agent.pid == found.shell.pid) == (shell == agent and "bash -lc" not in str(above))


def test_of_a_forked_shell_the_one_that_stays_is_meant():
    above = tree("bash|bash -c x", "bash|bash -c x", "bash|bash -c x", "gemini")
    found = find_caller(above)
    assert (found.shell, found.agent) == (above[2], above[3])


def test_a_shell_in_a_shell_is_not_a_fork():
    above = tree("bash|bash -c x", "bash|bash -c y", "claude")
    found = find_caller(above)
    assert (found.shell, found.agent) == (above[0], above[1])


def test_what_nobody_started_has_no_caller():
    assert find_caller([]) is None
    assert find_caller(tree("timeout")) is None
