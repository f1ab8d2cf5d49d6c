"""Every first word of `bn`: where it is defined and what it is for. No command is imported to list them."""

GROUPS: dict[str, tuple[str, str]] = {
    # first word: (modules that declare its commands, what it is for)
    "status": ("status", "the state of the project; what bn alone shows"),
    "ready": ("ready", "tasks that can be taken now"),
    "next": ("ready", "the task to take next; --claim takes it"),
    "blocked": ("ready", "tasks that cannot go on, and why"),
    "task": ("task moves dep", "add, show, change and finish tasks"),
    "queue": ("queue", "what goes before everything else"),
    "feature": ("feature", "parts of the product"),
    "discipline": ("discipline", "personas that work on tasks"),
    "learning": ("learning", "what was found out"),
    "note": ("note", "notes of a session"),
    "progress": ("note", "the project's running log"),
    "orient": ("orient", "register as an agent and see how the project stands"),
    "goodbye": ("goodbye", "end this agent: its claims, its registration, its process"),
    "agent": ("agent", "the registered agents; end one"),
    "search": ("search", "full-text search over everything written"),
    "graph": ("graph", "dependencies as a tree, Mermaid or DOT"),
    "stats": ("status", "the project in numbers"),
    "log": ("log", "who changed what, when; --follow"),
    "store": ("store", "where the data is; export, import, clear"),
    "doctor": ("doctor", "check the store and mend it"),
    "config": ("config", "settings of the project and of the user"),
    "system": ("system emit", "set up agents and clients; prompts"),
    "completion": ("completion", "completion for bash, zsh or fish"),
}
