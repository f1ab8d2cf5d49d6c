"""Decides whether a person or an agent runs this process, from its ancestors, which an agent cannot hide.

Variables can be unset and ids left out, but the processes that started us remain our ancestors. So these decide: our
own servers and runs, whose sessions are never people; the programs of known agents; and the variables that agents set
in the environments of the ancestors. If none of these is found, it is a person, or a process that has deliberately
detached itself, which a process of the same user can always do (docs/security.md).
"""

import os
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from binnacle.lifecycle.process import Process, ancestors
from binnacle.processes.facts import environment_of

CLIENTS = frozenset(
    ("aider", "amp", "auggie", "claude", "cline", "codex", "codex-acp", "copilot", "crush", "cursor-agent", "droid",
     "gemini", "goose", "goosed", "kilo", "kilocode", "kiro-cli", "opencode", "openhands", "plandex", "qchat", "qwen",
     "rovodev")
)  # fmt: skip
"""Programs that are agents. `config.clients` can set up most of them."""

PACKAGES = re.compile(
    r"/(@anthropic-ai/claude-code|@openai/codex|@google/gemini-cli|@github/copilot|@qwen-code/qwen-code|opencode-ai"
    r"|@sourcegraph/amp|@augmentcode/auggie|@zed-industries/[a-z-]+-acp|claude-code-acp|@kilocode/cli|cline)/"
)
"""The same agents as npm packages, in the path of the script that node runs."""

MARKS = frozenset(
    ("BN_SESSION", "BN_AGENT_ID", "BN_MCP_SESSION", "BN_RUN_SESSION", "BN_KEPT", "CLAUDECODE", "CODEX_SANDBOX",
     "CODEX_THREAD_ID", "GEMINI_CLI", "QWEN_CODE", "OPENCODE", "GOOSE_TERMINAL", "CURSOR_AGENT", "CLINE_ACTIVE",
     "COPILOT_AGENT_SESSION_ID", "AMP_CURRENT_THREAD_ID", "AUGMENT_AGENT")
)  # fmt: skip
"""Variables that we or a client set for processes of an agent. Their absence proves nothing."""

OURS = (("mcp", "serve"), ("run",), ("plan", "launch"), ("bridge", "host"), ("hook", "run"), ("script", "run"))
"""Our commands that act for agents, or start programs that do."""

KEEPER = "bn-keeper"
PARTS = re.compile(r"(?:^|/)binnacle[./](?:processes|passthrough|bridge|server)\b")
"""Our own programs that run for agents, in their command lines."""

INTERPRETERS = ("node", "bun", "deno", "python", "python3", "ruby", "sh", "bash")
"""Programs whose first argument is the program that really runs."""


class AgentAbove(NamedTuple):
    """An ancestor that shows that a process works for an agent."""

    reason: str


def find_agent_above(pid: int | None = None) -> AgentAbove | None:
    """The nearest sign that an agent runs a process; by default this one."""
    own = frozenset(os.environ if pid is None else _variables(pid))
    if found := _mark_in(own):
        return AgentAbove(f"{found} is set, which agents' processes have")
    for process in ancestors(pid):
        if starter := _is_ours(process) or _is_client(process):
            return AgentAbove(f"it was started by {starter} (process {process.pid})")
        if found := _mark_in(_variables(process.pid)):
            return AgentAbove(
                f"its ancestor {process.name} (process {process.pid}) was started for an agent: it has {found}"
            )
    return None


def find_agent_environment() -> dict[str, str] | None:
    """The variables that the agent above this process was started with; None if there is none, or they are not known.

    What the agent sets in its own shells is not among them. Of several agents above each other, the first one counts.
    """
    found = None
    for process in ancestors():
        variables = environment_of(process.pid)
        if _is_ours(process) or _is_client(process) or _mark_in(map(os.fsdecode, variables)):
            found = variables or found
    return {os.fsdecode(name): os.fsdecode(value) for name, value in found.items()} if found else None


def find_agent_in(process: Process) -> AgentAbove | None:
    """The nearest sign that a process is an agent, or that one runs it."""
    if starter := _is_ours(process) or _is_client(process):
        return AgentAbove(f"it is {starter} (process {process.pid})")
    return find_agent_above(process.pid)


def _is_ours(process: Process) -> str:
    if process.name == KEEPER:
        return "the keeper of an agent's programs"
    words = process.command.split()
    if any(map(PARTS.search, words[:5])):
        return "a part of Binnacle that runs programs for agents"
    at = next((index for index in range(min(len(words), 6)) if _is_command(words, index)), None)
    if at is None or (at and not os.path.basename(words[0]).lower().startswith(("python", "pypy"))):
        return ""  # also for a program that runs bn, such as `timeout 60 bn run`, which a person starts
    for command in OURS:
        if command == tuple(_skip_options(words[at + 1 :])[: len(command)]):
            return f"bn {' '.join(command)}"
    return ""


def _is_command(words: Sequence[str], index: int) -> bool:
    """Whether this word is `bn`, or our name in `python -m binnacle`."""
    if words[index] == "binnacle":
        return index > 0 and words[index - 1] == "-m"
    return index < 4 and os.path.basename(words[index]) == "bn"


def _skip_options(words: Sequence[str]) -> Sequence[str]:
    """The words after the options before a command."""
    rest = list(words)
    while rest and rest[0].startswith("-"):
        takes_value = rest.pop(0) in ("-C", "--repo")
        del rest[: int(takes_value)]
    return rest


def _is_client(process: Process) -> str:
    words = process.command.split()
    names = [process.name, process.program, *(os.path.basename(word) for word in words[:1])]
    if process.program.rstrip("0123456789.") in INTERPRETERS:
        names += [os.path.basename(word) for word in words[1:2]]
    if found := next((name for name in names if name.removesuffix(".exe") in CLIENTS), ""):
        return f"the agent {found}"
    if package := next(filter(None, map(PACKAGES.search, words[:4])), None):
        return f"the agent {package[1]}"
    return ""


def _mark_in(names: Iterable[str]) -> str:
    return next((name for name in names if name in MARKS), "")


def _variables(pid: int) -> set[str]:
    """The names of the variables that a process was started with. Later changes do not count."""
    return {os.fsdecode(name) for name in environment_of(pid)}
