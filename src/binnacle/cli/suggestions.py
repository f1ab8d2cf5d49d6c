"""What people mean by a command that is not there: first by the sense of the word, then by its letters.

Loaded only when a command line was wrong.
"""

from collections.abc import Sequence

from binnacle.cli.command import Group
from binnacle.cli.command_index import GROUPS, SHORT_FORMS, import_group
from binnacle.errors import did_you_mean

SAME_SENSE = (
    ("add", "create", "new", "make", "insert"),
    ("delete", "remove", "rm", "del", "drop", "erase", "destroy"),
    ("list", "ls", "all", "tasks", "task-list", "issues", "todos", "index"),
    ("show", "view", "get", "cat", "display", "describe", "details", "info", "inspect", "open"),
    ("update", "edit", "change", "modify", "set", "rename"),
    ("done", "close", "finish", "complete", "resolve", "fixed"),
    ("start", "begin", "do", "work", "take", "claim", "pick"),
    ("block", "stuck", "wait"),
    ("skip", "cancel", "abandon", "wontfix", "discard"),
    ("reopen", "unblock", "uncancel"),
    ("release", "unclaim", "unassign", "pause"),
    ("comment", "reply", "remark"),
    ("search", "find", "grep", "query", "look"),
    ("log", "history", "events", "changes", "activity", "journal", "audit"),
    ("status", "overview", "summary", "dashboard", "state", "st"),
    ("ready", "todo", "available", "backlog"),
    ("doctor", "check", "repair", "fsck", "diagnose", "verify"),
    ("graph", "tree", "diagram"),
    ("config", "settings", "configure", "preferences", "options"),
    ("orient", "register", "hello", "join"),
    ("goodbye", "bye", "logout", "leave", "signoff"),
)
"""Words that people use for the same thing. A group of commands has one or two of each row."""

MEANT = {
    "claim": "next --claim",
    "pick": "next --claim",
    "set": "config set",
    "info": "status",
    "mine": "list --mine",
    "my": "list --mine",
    "resume": "run --resume",
    "continue": "run --resume",
    "init": "system init",
    "setup": "system init",
    "install": "system init",
    "version": "--version",
    "dep": "task dep add",
    "deps": "task dep tree",
    "depend": "task dep add",
    "link": "task dep add",
    "split": "task split",
    "move": "task move",
    "mv": "task move",
    "export": "store export",
    "backup": "store export",
    "dump": "store export",
    "import": "store import",
    "restore": "store import",
    "clear": "store clear",
    "serve": "mcp serve",
    "server": "mcp serve",
    "servers": "upstream list",
    "login": "upstream login",
    "approve": "trust",
    "launch": "plan launch",
    "recipe": "plan show",
    "recipes": "plan show",
    "debug": "bridge status",
    "question": "ask list",
    "questions": "ask list",
    "answer": "ask answer",
    "persona": "discipline list",
    "epic": "feature list",
    "whoami": "agent list",
}
"""First words that are no command, and the command that does what they say."""


def suggest(word: str) -> str:
    """The hint for a first word that is no command."""
    if meant := _find_meant(word.casefold()):
        return f"did you mean 'bn {meant}'?"
    return did_you_mean(word, [*GROUPS, *SHORT_FORMS]) or "see: bn --help"


def suggest_in(group: Group, word: str) -> str:
    """The hint for a word after a group's that is no command of it."""
    names = [words for words in group.commands if words]
    same = _find_same(word.casefold(), names)
    return f"did you mean 'bn {group.name} {same}'?" if same else did_you_mean(word, names)


def _find_meant(word: str) -> str | None:
    if meant := MEANT.get(word) or _find_same(word, [*SHORT_FORMS, *GROUPS]):
        return meant
    singular = word.removesuffix("s")
    if singular in GROUPS and singular != word:
        return f"{singular} list" if "list" in import_group(singular).commands else singular
    return None


def _find_same(word: str, names: Sequence[str]) -> str | None:
    """The one of `names` that says the same."""
    senses = next((senses for senses in SAME_SENSE if word in senses), ())
    return next((name for name in senses if name in names), None)
