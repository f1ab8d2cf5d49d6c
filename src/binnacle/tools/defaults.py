"""What a session sees when nothing else was chosen for it.

Everything an agent needs from finding a task to finishing it, and what a planner needs; what
rearranges or deletes is left to those who ask for it. At most 40 tools: more confuse more than they help.
"""

DEFAULT_TOOLS: tuple[str, ...] = (
    *("binnacle-set_agent", "bn_run", "binnacle-orient", "binnacle-goodbye"),
    *("task_add", "task_list", "task_get", "task_next", "task_claim", "task_status", "task_update", "task_release"),
    *("task_block", "task_skip", "task_split", "task_context", "task_dependencies", "task_search", "task_enrich"),
    *("comment_add", "feature_add", "feature_get", "feature_list", "discipline_list"),
    *("learning_add", "learning_list", "progress_add", "progress_list", "note_add", "note_list"),
    *("project_info", "project_progress", "iteration_summary", "session_complete", "session_abort"),
)
