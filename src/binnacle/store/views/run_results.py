"""What a run led to, over all machines and resumes: changes, attempts without success, and what waits for a person."""

from typing import NamedTuple

from binnacle.store.attempts import COUNTED
from binnacle.store.questions import OPEN, QUESTIONS
from binnacle.store.reviews import REVIEWS
from binnacle.store.table import placeholders
from binnacle.store.transaction import Reader
from binnacle.work.closed_count import ClosedCount, count_closed
from binnacle.work.report import Question
from binnacle.work.review import Review

_IN_RUN = "session in (select id from session where run = ?)"


class RunResults(NamedTuple):
    """What a run led to."""

    commits: int
    files: int
    """Files that were changed, added up over the commits."""

    unfinished: int
    """Attempts that used up an attempt at their task and did not finish it."""

    questions: list[Question]
    """The unanswered questions about tasks that it tried, those that tasks wait for first."""

    reviews: list[Review]
    """The open reviews of its changes, oldest first."""


def read_results(tx: Reader, run_id: str, *, most_questions: int = 5) -> RunResults:
    """What a run led to so far."""
    row = tx.row(
        "select sum(case when commit_id <> '' then 1 else 0 end), sum(files), "
        f"sum(case when task_started is not null and outcome in {placeholders(COUNTED)} then 1 else 0 end) "
        f"from iteration where {_IN_RUN}",
        *COUNTED,
        run_id,
    )
    assert row is not None
    tried = f"task_id in (select task_started from iteration where {_IN_RUN})"
    where = f"where {OPEN} and {tried} order by blocking desc, number limit ?"
    return RunResults(
        int(row[0] or 0),
        int(row[1] or 0),
        int(row[2] or 0),
        QUESTIONS.select(tx, where, run_id, most_questions),
        REVIEWS.select(tx, "where run = ? and status = 'open' order by number limit ?", run_id, most_questions),
    )


def count_closed_tasks(tx: Reader, run_id: str) -> ClosedCount:
    """The tasks that are closed and that a run closed or has tried, on whatever machine."""
    closed = f"select entity_id from event where entity = 'task' and action in ('done', 'cancelled') and {_IN_RUN}"
    tried = f"select task_started from iteration where {_IN_RUN}"
    rows = tx.rows(
        "select status, evidence_level, count(*) from task where status in ('done', 'cancelled') "
        f"and (id in ({closed}) or id in ({tried})) group by status, evidence_level",
        run_id,
        run_id,
    )
    return count_closed((row[0], row[1], row[2]) for row in rows)
