"""Every first word of `bn`: where it is defined, what it is for and its topic. No command is imported to list them."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from binnacle.cli.command import Group

GROUPS: dict[str, tuple[str, str]] = {
    # first word: (modules that declare its commands, what it is for)
    "status": ("status", "the state of the project; what bn alone shows"),
    "ready": ("ready", "tasks that can be taken now"),
    "next": ("ready", "the task to take next; --claim takes it"),
    "blocked": ("ready", "blocked tasks, and why"),
    "ask": ("ask", "questions of agents, for people to answer"),
    "task": ("task task_moves dependencies", "add, show, change and finish tasks"),
    "queue": ("queue", "the tasks that come before all others"),
    "feature": ("feature", "parts of the product"),
    "discipline": ("discipline", "personas that work on tasks"),
    "learning": ("learning", "what was found out"),
    "note": ("note", "notes of a session"),
    "progress": ("note", "the project's running log"),
    "orient": ("orient", "register as an agent and see the state of the project"),
    "goodbye": ("goodbye", "end this agent: its claims, its registration, its process"),
    "agent": ("agent", "registered agents; end one"),
    "search": ("search", "full-text search over everything written"),
    "graph": ("graph", "dependencies as a tree, Mermaid or DOT"),
    "stats": ("status", "the project in numbers"),
    "log": ("log", "who changed what, when; --follow"),
    "undo": ("undo", "undo your last changes"),
    "store": ("store stores", "where the data is; all stores; export, import, clear"),
    "doctor": ("doctor", "check the store and fix it"),
    "config": ("config", "settings of the project and of the user"),
    "system": ("system emit", "set up agents and clients; prompts"),
    "plan": ("plan launch coverage", "which tools a session gets, and why; start a client on one"),
    "trust": ("trust", "review what came with the project, and let it have an effect"),
    "hook": ("hook", "commands that run around the iterations of a run"),
    "check": (
        "check check_run check_files check_quarantine",
        "commands of the project that show whether work is right",
    ),
    "review": ("review review_show review_verdicts review_comments", "changes that wait for somebody to look at them"),
    "verify": ("verify", "what still holds of the tasks that are done, and which commit broke what does not"),
    "prompt": ("prompt", "what the agent of a session reads first"),
    "upstream": (
        "upstream upstream_files upstream_import upstream_live upstream_history upstream_login",
        "other MCP servers whose tools agents get",
    ),
    "run": ("run", "run agents in iterations until the work is done"),
    "session": ("session session_steering", "sessions of agents, their iterations and transcripts; steer a run"),
    "cost": ("cost", "what runs spent, by run, task, agent, model or day"),
    "report": ("report", "what a run was asked for, did and spent, and what waits for you"),
    "gui": ("gui", "the page for people: the work and the agents, in the browser"),
    "mcp": ("mcp mcp_token", "serve this project to agents over MCP"),
    "bridge": ("bridge", "the host that debugs programs for agents"),
    "script": ("script script_files", "scripts that agents get as tools; your own"),
    "tool": ("tool", "call any tool of the catalog"),
    "completion": ("completion", "completion for bash, zsh or fish"),
}

TOPICS: dict[str, tuple[str, ...]] = {
    "The work": (
        *("status", "ready", "next", "blocked", "task", "queue", "ask"),
        *("search", "graph", "log", "undo", "stats", "gui"),
    ),
    "What is known": ("feature", "discipline", "learning", "note", "progress"),
    "Agents": ("orient", "goodbye", "agent", "run", "session", "cost", "report", "hook", "check", "review", "verify"),
    "Tools of agents": ("mcp", "plan", "prompt", "upstream", "tool", "script", "bridge"),
    "Set-up": ("system", "config", "trust", "store", "doctor", "completion"),
}
"""Every first word under its topic, as help shows them."""

SHORT_FORMS: dict[str, str] = {
    "add": "task add",
    "list": "task list",
    "show": "task show",
    "edit": "task update",
    "start": "task start",
    "done": "task done",
    "block": "task block",
    "skip": "task skip",
    "reopen": "task reopen",
    "release": "task release",
    "comment": "task comment",
    "delete": "task delete",
}
"""First words that stand for two. They are replaced before anything else is looked at, so that rights, help and
completion are those of the command itself."""


def import_group(name: str) -> "Group":
    """The group of a first word that is one of `GROUPS`, with its commands."""
    modules = [import_module(f"binnacle.cli.commands.{module}") for module in GROUPS[name][0].split()]
    group: Group = getattr(modules[0], name.upper())
    return group
