"""Tools whose calls may take long, by all their names: they run commands, or checks before a task is done.

Named here and not with the tools, because a server tells its clients before it loads those.
"""

LONG_CALLS = frozenset(
    {
        "task_status",
        "set_task_status",
        "task_update",
        "task-update",
        "update_task",
        "report_done",
        "done",
        "bn_run",
    }
)
