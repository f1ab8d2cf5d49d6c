"""What `bn session show` answers: a session or a run, with its tasks, attempts and totals."""

from binnacle.cli.command import CommandAnswer
from binnacle.work.run import RunRecord
from binnacle.work.session import Iteration, SessionRecord


class AttemptedTask(CommandAnswer, kw_only=True):
    """A task that was tried."""

    id: str
    title: str = ""
    """Empty if the task was deleted."""

    status: str = ""
    attempts: int


class SessionTotals(CommandAnswer, kw_only=True):
    """What the iterations of a session or a run took and led to."""

    iterations: int
    seconds: float
    tokens: int
    cost: dict[str, float]
    """By currency; empty if no agent reported any."""

    commits: list[str]
    files: int
    """Files that were changed, added up over the commits."""

    agents: list[str]
    """Who worked, each with its model if it is known."""


class SessionAnswer(CommandAnswer, kw_only=True):
    """A session with its iterations and the folder of its files; by the name of a run, those of all its sessions."""

    session: SessionRecord
    iterations: list[Iteration]
    folder: str
    tasks: tuple[AttemptedTask, ...] = ()
    totals: SessionTotals | None = None
    run: RunRecord | None = None
    """The run that drives it, without its specification."""

    sessions: tuple[str, ...] = ()
    """All sessions of that run."""
