"""Acts that only commands do: no tool does the same, but a recipe can allow them and a discipline be denied them."""

COMMANDS = (
    "agent_reap",
    "bridge_stop",
    "hook_run",
    "learning_delete",
    "learning_review",
    "note_delete",
    "queue_add",
    "queue_remove",
    "script_new",
)
"""By names like those of tools."""
