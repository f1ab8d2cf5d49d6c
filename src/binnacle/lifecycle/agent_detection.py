"""Whether a person is at work, or an agent: by the processes above this one, which an agent cannot leave out.

Variables can be unset and ids left away, but the process that started us stays above us. So what is above decides: our
own servers and runs, whose sessions are never people; the programs of known agents; and what those left in the
environments that the processes above were started with. Where nothing of that is found, it is a person, or somebody who
took the trouble to get away from all of it, which one user's processes can always do (docs/security.md).
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
"""Programs that are agents. `config.clients` sets most of them up."""

PACKAGES = re.compile(
    r"/(@anthropic-ai/claude-code|@openai/codex|@google/gemini-cli|@github/copilot|@qwen-code/qwen-code|opencode-ai"
    r"|@sourcegraph/amp|@augmentcode/auggie|@zed-industries/[a-z-]+-acp|claude-code-acp|@kilocode/cli|cline)/"
)
"""The same as npm packages that node runs: in the path of the script."""

MARKS = frozenset(
    ("BN_SESSION", "BN_AGENT_ID", "BN_MCP_SESSION", "BN_RUN_SESSION", "BN_KEPT", "CLAUDECODE", "CODEX_SANDBOX",
     "CODEX_THREAD_ID", "GEMINI_CLI", "QWEN_CODE", "OPENCODE", "GOOSE_TERMINAL", "CURSOR_AGENT", "CLINE_ACTIVE",
     "COPILOT_AGENT_SESSION_ID", "AMP_CURRENT_THREAD_ID", "AUGMENT_AGENT")
)  # fmt: skip
"""Variables that we or a client give to what an agent starts. One that is there tells; none tells nothing."""

OURS = (("mcp", "serve"), ("run",), ("plan", "launch"), ("bridge", "host"), ("hook", "run"), ("script", "run"))
"""Commands of ours that act for agents, or start what does."""

KEEPER = "bn-keeper"
PARTS = re.compile(r"(?:^|/)binnacle[./](?:processes|passthrough|bridge|server)\b")
"""Programs of ours that run for others, in the words that start them."""

INTERPRETERS = ("node", "bun", "deno", "python", "python3", "ruby", "sh", "bash")
"""Programs whose first word says what really runs."""


class AgentAbove(NamedTuple):
    """That a process works for an agent, and how that shows."""

    reason: str


def find_agent_above(pid: int | None = None) -> AgentAbove | None:
    """The nearest sign that an agent is above a process; above this one when none is given."""
    own = frozenset(os.environ if pid is None else _variables(pid))
    if found := _mark_in(own):
        return AgentAbove(f"{found} is set, which agents' processes have")
    for process in ancestors(pid):
        if starter := _is_ours(process) or _is_client(process):
            return AgentAbove(f"it was started by {starter} (process {process.pid})")
        if found := _mark_in(_variables(process.pid)):
            return AgentAbove(
                f"{process.name} (process {process.pid}) above it was started for an agent: it has {found}"
            )
    return None


def _is_ours(process: Process) -> str:
    if process.name == KEEPER:
        return "the keeper of an agent's programs"
    words = process.command.split()
    if any(map(PARTS.search, words[:5])):
        return "a part of Binnacle that runs programs for agents"
    at = next((index for index in range(min(len(words), 6)) if _is_command(words, index)), None)
    if at is None or (at and not os.path.basename(words[0]).lower().startswith(("python", "pypy"))):
        return ""  # or a program that runs one, as `timeout 60 bn run`, which is the person's own
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
    """What follows the options before a command."""
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
    """The names of the variables that a process was started with; what it did to them since changes nothing."""
    return {os.fsdecode(name) for name in environment_of(pid)}
