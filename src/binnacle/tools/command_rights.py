"""Rights to commands that have no tool: a recipe can allow them, and a discipline can be denied them."""

COMMANDS = (
    "agent_reap",
    "bridge_stop",
    "check_run",
    "hook_run",
    "learning_delete",
    "learning_review",
    "note_delete",
    "queue_add",
    "queue_remove",
    "script_new",
)
"""Named like tools."""
