"""The run report as one value. Its fields are its JSON."""

from datetime import datetime

from msgspec import Struct

from binnacle.store.views.spending import BudgetUse, SpendingLine
from binnacle.work.closed_count import ClosedCount, count_closed
from binnacle.work.evidence import PROVEN, EvidenceLevel, Waiver, describe_proof
from binnacle.work.observation import ObservedCommand
from binnacle.work.report import Question
from binnacle.work.run import Attention
from binnacle.work.session import Iteration
from binnacle.work.status import Status

UNPROVEN_PARTS = (
    ("observed", "Only observed", "Their agents ran tests by themselves, which ended with 0."),
    ("said", "Only said", "Nothing but words shows that these are done."),
)
"""Levels that have a part of their own in a report, with its heading and what it says."""


class ReportedRequirement(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A requirement of the specification, and the tasks that cover it."""

    id: str
    summary: str
    tasks: list[str] = []


class AskedWork(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the run was asked for."""

    file: str = ""
    text: str = ""
    """The specification; empty if it does the tasks that were there."""

    requirements: list[ReportedRequirement] = []
    """Only if tasks say what they cover."""

    @property
    def missing(self) -> list[ReportedRequirement]:
        """The requirements that no task covers."""
        return [one for one in self.requirements if not one.tasks]


class ReportedCheck(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a check said about the work on a task."""

    id: str
    name: str
    verdict: str
    """In words, with the reason."""

    has_passed: bool = False
    commit: str
    is_merged: bool = False
    at: datetime


class ReportedTask(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task of the run, as it is now."""

    id: str
    title: str
    status: Status
    closing: str = ""
    """Why it was closed, in the words of whoever closed it."""

    level: EvidenceLevel = ""
    """How well it is known that it is done."""

    level_commit: str = ""
    level_at: datetime | None = None
    checks: list[ReportedCheck] = []
    """The newest results about it, oldest first."""

    observed: list[ObservedCommand] = []
    """The tests that its agent ran by itself, where nothing else shows that it is done."""

    waivers: list[Waiver] = []
    attempts: list[Iteration] = []
    """Those of this run, oldest first."""

    commits: list[str] = []
    spending: SpendingLine | None = None

    @property
    def proof(self) -> str:
        """The level, with its commit and its time; empty for a task that is not done."""
        when = f", {self.level_at:%Y-%m-%d %H:%M} UTC" if self.level_at else ""
        return f"{describe_proof(self.level, self.level_commit)}{when}" if self.level else ""

    @property
    def is_proven(self) -> bool:
        """Whether more is known of it than what its agent did and said, or it is not done."""
        return self.status != "done" or self.level in PROVEN

    @property
    def failed_attempts(self) -> list[Iteration]:
        """The attempts that did not finish the task."""
        return [one for one in self.attempts if one.outcome not in ("", "done")]


class ReportedCommit(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A commit of the run."""

    id: str
    title: str
    at: datetime
    task: str = ""


class ReportedFile(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file that the run changed; a binary file has no lines."""

    path: str
    insertions: int | None = None
    deletions: int | None = None


class ReportedChanges(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the run changed, as git knows it here."""

    unknown: str = ""
    """Why git cannot say it here; empty if it can."""

    base: str = ""
    head: str = ""
    branch: str = ""
    commits: list[ReportedCommit] = []
    files: list[ReportedFile] = []
    left_out: int = 0
    """Further files that are not listed."""

    insertions: int = 0
    deletions: int = 0
    uncommitted: list[str] = []
    """Files in the person's folder that are not committed."""


class KeptRef(Struct, frozen=True, kw_only=True):
    """A branch or a parked ref with work of the run that the checked-out branch does not have."""

    ref: str
    commit: str


class WaitingForPerson(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What only a person can do now."""

    questions: list[Question] = []
    attention: list[Attention] = []
    open_tasks: list[ReportedTask] = []
    refs: list[KeptRef] = []

    @property
    def count(self) -> int:
        return len(self.questions) + len(self.attention) + len(self.open_tasks) + len(self.refs)


class RunReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that a person wants to know of a run, whether it has ended or not."""

    id: str
    name: str
    status: str
    why: str = ""
    said: str = ""
    feature: str = ""
    places: list[str] = []
    """The machines and checkouts in which it works."""

    started_at: datetime
    ended_at: datetime | None = None
    seconds: float = 0.0
    asked: AskedWork
    tasks: list[ReportedTask] = []
    """Those that it worked on or that were closed meanwhile."""

    changes: ReportedChanges
    total: SpendingLine
    by_task: list[SpendingLine] = []
    by_agent: list[SpendingLine] = []
    by_model: list[SpendingLine] = []
    budget: list[BudgetUse] = []
    waiting: WaitingForPerson

    @property
    def closed_tasks(self) -> list[ReportedTask]:
        return [one for one in self.tasks if one.status in ("done", "cancelled")]

    @property
    def count(self) -> ClosedCount:
        """What is closed, by how well it is known."""
        return count_closed((one.status, one.level, 1) for one in self.tasks)

    @property
    def failures(self) -> list[tuple[ReportedTask, Iteration]]:
        """The attempts that did not finish their task, with the task."""
        return [(task, one) for task in self.tasks for one in task.failed_attempts]

    @property
    def state(self) -> str:
        """How it stands, in a sentence."""
        if self.status == "active":
            return "under way"
        return f"{self.why}: {self.said}" if self.said else self.why or self.status
