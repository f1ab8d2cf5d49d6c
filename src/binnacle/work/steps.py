"""The next steps that errors of the work model suggest.

A step has a text, the command that takes it in a shell, and the calls that take it over MCP, the best first.
`tools.hints` shows the first call whose tool the session has with all of these arguments.
"""

from binnacle.errors import NextStep, SuggestedCall

TAKE_CALLS = (SuggestedCall("task_claim"), SuggestedCall("task_next"))
TAKE_ANOTHER = NextStep("take another task", "next --claim", TAKE_CALLS)
DROP_AND_TAKE_ANOTHER = NextStep("drop this work and take another task", "next --claim", TAKE_CALLS)

ASK_FOR_TASK = NextStep("start a session that has a task", "mcp serve --task ID", for_person=True)
LIST_TASKS = NextStep(
    "list the tasks", "task list --all", (SuggestedCall("task_list", {"closed_too": True}), SuggestedCall("task_list"))
)
LIST_QUESTIONS = NextStep("list the questions", "ask list --all")
SHOW_STATUS = NextStep("see what waits for you", "status", for_person=True)
LIST_REVIEWS = NextStep("list the reviews", "review list", (SuggestedCall("task_list", {"status": "in_review"}),))
LIST_SESSIONS = NextStep("list the sessions", "session list")
LIST_LEARNINGS = NextStep(
    "list the learnings, which shows their ids", "learning list", (SuggestedCall("learning_list"),)
)
LIST_NOTES = NextStep("list the notes, which shows their ids", "note list", (SuggestedCall("note_list"),))
LIST_TOOLS = NextStep("list the tools", "tool")
DELETE_LEARNING = NextStep("delete a learning that is no longer true", "learning delete ID")
EXPORT_STORE = NextStep("export the store again", "store export FILE")
REGISTER_AGAIN = NextStep("register again", "orient", (SuggestedCall("binnacle-orient"),))
REGISTER = NextStep("register first", "orient", (SuggestedCall("binnacle-orient"),))
CHOOSE_PROJECT = NextStep(
    "say which repository you work in", calls=(SuggestedCall("binnacle-set_agent", {"path": "/absolute/path"}),)
)
OPEN_SESSION = NextStep(
    "open your own session, and pass the `session` that it returns with every call",
    calls=(SuggestedCall("binnacle-set_agent", {"path": "/absolute/path"}), SuggestedCall("binnacle-orient")),
)
LIST_CHANGES = NextStep("list your changes", "undo --list", for_person=True)
CHECK_STORE = NextStep("check the store", "doctor")
REPAIR_STORE = NextStep(
    "keep the damaged file and save what can be read into a new one", "doctor --fix", for_person=True
)
LOOK_THEN_REPEAT = NextStep(
    "check whether it was done, and repeat it if not", "log", (SuggestedCall("task_get"), SuggestedCall("task_list"))
)
TRY_AGAIN_LATER = (
    "nothing was changed; try again",
    NextStep("if it keeps failing, check store.url and that the database server is running", for_person=True),
)
WAIT_FOR_WRITER = ("another process is writing; try again", NextStep("raise store.timeout", for_person=True))


def reopen(task_id: str, *, words: str = "reopen it") -> NextStep:
    """Make a task pending again."""
    return NextStep(words, f"task reopen {task_id}", _moves(task_id, "pending"))


def start(task_id: str, *, words: str) -> NextStep:
    """Take a certain task."""
    return NextStep(words, f"task start {task_id}", _moves(task_id, "in_progress"))


def finish_or_release(task_id: str) -> NextStep:
    """Finish or release the task that the agent holds."""
    done = _moves(task_id, "done")
    reports = (SuggestedCall("report_done"),)
    return NextStep("finish or release it first", f"task done {task_id}", (*done, *reports))


def cancel(task_id: str) -> NextStep:
    """Cancel a task instead of deleting it."""
    reason = {"reason": "…"}
    calls = (SuggestedCall("task_skip", {"id": task_id, **reason}), *_moves(task_id, "cancelled", **reason))
    return NextStep("cancel it instead", f"task skip {task_id} --reason '…'", calls)


def update(task_id: str) -> NextStep:
    """Change the fields of a task."""
    return NextStep("change it", f"task update {task_id}", (SuggestedCall("task_update", {"id": task_id}),))


def show(task_id: str, *, words: str = "look at it") -> NextStep:
    """Read a task with its comments."""
    calls = (SuggestedCall("task_get", {"id": task_id}), SuggestedCall("task_list"))
    return NextStep(words, f"task show {task_id}", calls)


def show_log(entity_id: str) -> NextStep:
    """See what happened to something."""
    return NextStep("see what happened to it", f"log --of {entity_id}")


def show_dependencies(task_id: str) -> NextStep:
    """See what a task waits for."""
    calls = (SuggestedCall("task_dependencies", {"id": task_id}), SuggestedCall("task_get", {"id": task_id}))
    return NextStep("see which", f"task dep tree {task_id}", calls, optional=True)


def comment(task_id: str, *, words: str = "or comment on it") -> NextStep:
    """Comment on a task instead of changing it."""
    calls = (
        SuggestedCall("comment_add", {"task_id": task_id, "body": "…"}),
        SuggestedCall("report_flag", {"what": "…"}),
    )
    return NextStep(words, f"task comment {task_id} '…'", calls, optional=True)


def answer(question_id: str) -> NextStep:
    """Answer a question, which only a person may do."""
    return NextStep("answer it", f"ask answer {question_id} '…'", for_person=True)


def answer_attention(attention_id: str) -> NextStep:
    """Answer what waits for a person."""
    return NextStep("answer it", f"session answer {attention_id} '…'", for_person=True)


def resume_run(name: str) -> NextStep:
    """Resume a run that is not running."""
    return NextStep("resume it", f"run --resume --name {name}", for_person=True)


def add_named(what: str, name: str) -> NextStep:
    """Add a feature or discipline that does not exist."""
    return NextStep("create it", f"{what} add {name}", (SuggestedCall(f"{what}_add", {"name": name}),))


def update_named(what: str, name: str) -> NextStep:
    """Change a feature or discipline that exists."""
    return NextStep("change it", f"{what} update {name}", (SuggestedCall(f"{what}_update", {"name": name}),))


def merge_feature(name: str) -> NextStep:
    """Merge a feature into another instead of deleting it."""
    call = SuggestedCall("feature_merge", {"name": name, "into": "…"})
    return NextStep("merge it into another instead", f"feature merge {name} --into OTHER", (call,))


def renew_plan(session_id: str) -> NextStep:
    """Write the files of a plan again."""
    return NextStep("write its files again", f"plan renew {session_id}", for_person=True)


def show_schema(tool: str) -> NextStep:
    """See which parameters a tool has."""
    return NextStep("see its parameters", f"tool {tool} --schema")


def name_project(words: str, name: str = "NAME") -> NextStep:
    """Name the project that a repository is in a shared database."""
    return NextStep(words, f"config set store.project {name}", for_person=True)


def ask_person(words: str) -> NextStep:
    """A step outside Binnacle that an agent should leave to a person."""
    return NextStep(words, for_person=True)


def _moves(task_id: str, status: str, **more: str) -> tuple[SuggestedCall, ...]:
    """The calls that set the status of a task."""
    arguments = {"id": task_id, "status": status, **more}
    return SuggestedCall("task_status", arguments), SuggestedCall("task_update", arguments)
