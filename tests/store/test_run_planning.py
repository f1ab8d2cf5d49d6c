"""The planning of a run in the store, on both engines."""

from datetime import timedelta

from binnacle.store import attempts, features, run_planning, runs, sessions, task_moves, tasks
from binnacle.store.sessions import ITERATIONS
from binnacle.work.actor import Actor
from binnacle.work.task import NewTask
from places import NOW
from store.verbs import do, see

LATER = NOW + timedelta(minutes=5)
TEXT = "- one\n- two\n- three\n"


def a_run(store, name: str = "words", text: str = TEXT):
    if name not in {one.name for one in see(store, features.list_features)}:
        do(store, features.add, name, {})
    run = do(store, runs.start, name, feature=name, asked=text, asked_file="")
    session = do(store, sessions.start, name=name, feature=name).id
    do(store, sessions.join_run, session, run.id, "here")
    return run, session


def add_in(store, session: str | None, *new: NewTask) -> list[str]:
    with store.write(by=Actor(session or "ann", "agent" if session else "person"), session=session) as tx:
        return [one.id for one in tasks.add(tx, list(new))]


def missing(store, run) -> list[str]:
    return [one.id for one in see(store, run_planning.load_coverage, see(store, runs.get, run.id)).coverage.missing]


def test_tasks_of_the_run_and_of_people_count_but_not_cancelled_ones_or_those_of_other_runs(store):
    run, session = a_run(store)
    _, other = a_run(store, "others")
    (own,) = add_in(store, session, NewTask(title="a", feature="words", covers=("R1",)))
    add_in(store, None, NewTask(title="b", feature="words", covers=("R2",)))
    add_in(store, other, NewTask(title="c", feature="words", covers=("R3",)))
    add_in(store, None, NewTask(title="d", feature="others", covers=("R3",)))
    assert missing(store, run) == ["R3"]
    do(store, task_moves.skip, own, reason="no", force=True)
    assert missing(store, run) == ["R1", "R3"]


def test_a_step_is_begun_once_and_resumed_after_a_kill(store):
    run, session = a_run(store)
    step = see(store, run_planning.load_state, run.id).step
    assert step is not None
    assert do(store, run_planning.begin, session, step.key) == (0, False)
    assert do(store, run_planning.begin, session, step.key) == (0, True)
    assert see(store, run_planning.load_state, run.id).step == step, "it has not ended"
    do(store, sessions.summarize, session, "planned")
    again = see(store, run_planning.load_state, run.id).step
    assert again is not None
    assert (again.is_repeated, do(store, run_planning.begin, session, again.key)) == (True, (1, False))
    do(store, sessions.summarize, session, "planned again")
    state = see(store, run_planning.load_state, run.id)
    assert (state.step, state.is_finished) == (None, False)
    do(store, run_planning.finish, run.id)
    assert see(store, run_planning.load_state, run.id).is_finished


def test_planning_is_no_attempt_and_ends_one_that_was_interrupted(store):
    run, session = a_run(store)
    (task,) = add_in(store, session, NewTask(title="a", feature="words", covers=("R1",)))
    claimed = do(store, attempts.claim, session, tasks.TaskFilter(feature="words"))
    assert claimed is not None
    begun = do(store, run_planning.begin, session, "part 1 x", now=LATER)
    assert begun == (2, False)
    assert see(store, sessions.get, session).task_id is None
    do(store, sessions.summarize, session, "planned", now=LATER)
    assert see(store, attempts.spent_in_run, run.id).iterations == 0
    again = do(store, attempts.claim, session, tasks.TaskFilter(feature="words"), now=LATER)
    assert again is not None
    assert (again.number, again.task.id, again.attempt, again.goes_on) == (3, task, 1, False)
    kinds = [
        (one.number, one.plans, one.outcome) for one in see(store, lambda tx: ITERATIONS.select(tx, "order by number"))
    ]
    assert kinds == [(1, "", "stopped"), (2, "part 1 x", ""), (3, "", "")]


def test_a_changed_specification_gives_tasks_its_ids(store):
    run, session = a_run(store)
    first, second = add_in(
        store,
        session,
        NewTask(title="a", feature="words", covers=("R1-R2",)),
        NewTask(title="b", feature="words", covers=("R3",)),
    )
    change = do(store, run_planning.change_specification, run, "- zero\n- one\n- two\n")
    assert [one.text for one in change.added] == ["zero"]
    assert [one.text for one in change.removed] == ["three"]
    assert [see(store, tasks.get, one).covers for one in (first, second)] == [("R2", "R3"), ()]
