"""What happens in a run, as values: a view shows them, `--json` prints them, tests read them."""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from binnacle.runner.end_rules import EndKind
from binnacle.work.closed_count import ClosedCount
from binnacle.work.evidence import SHORT_COMMIT_CHARACTERS
from binnacle.work.report import Question
from binnacle.work.review import Review, ReviewDecision, ReviewStatus
from binnacle.work.review_policy import ReviewRequirement
from binnacle.work.run import AttemptOutcome, AttentionKind
from binnacle.work.verdict import Verdict

MAX_QUESTION_CHARACTERS = 120
"""Characters of a question that the summary of a run shows."""


class RunEvent(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="event"):
    """Something that happened in a run."""

    worker: int = 1
    """The number of the worker it is about."""


class RunStarted(RunEvent, frozen=True, kw_only=True, tag="run_started"):
    """A run begins or resumes."""

    session: str
    name: str
    agent: str
    recipe: str
    goes_on: bool = False
    """Whether an earlier run began the session."""


class IterationStarted(RunEvent, frozen=True, kw_only=True, tag="iteration_started"):
    """An iteration begins, or resumes after an interruption."""

    number: int
    goes_on: bool = False
    task: str = ""
    """The task that its session already holds."""

    is_planning: bool = False
    reviewer: int = 0
    """Which reviewer of the task's change it is; 0 if it is none."""

    plans: str = ""
    """What it plans, if that is not the complete specification: `part 2 of 5`."""


class AgentStarted(RunEvent, frozen=True, kw_only=True, tag="agent_started"):
    """An agent runs and has a session."""

    agent: str
    agent_session: str
    was_loaded: bool = False
    """Whether it loaded its session from before the interruption."""


class AgentPrompted(RunEvent, frozen=True, kw_only=True, tag="prompted"):
    """An agent was given a prompt."""

    text: str


class AgentSaid(RunEvent, frozen=True, kw_only=True, tag="said"):
    """A piece of what an agent says or thinks."""

    text: str
    is_thought: bool = False


class ToolCalled(RunEvent, frozen=True, kw_only=True, tag="tool"):
    """A tool call begins, changes or ends."""

    id: str
    title: str
    kind: str = ""
    status: str = ""


class PlanTold(RunEvent, frozen=True, kw_only=True, tag="plan"):
    """The steps that an agent plans."""

    steps: tuple[tuple[str, str], ...]
    """Each with its status."""


class CostReported(RunEvent, frozen=True, kw_only=True, tag="spent"):
    """What the run has cost so far, if the agent reports it."""

    tokens: int = 0
    cost: float = 0.0


class PermissionDecided(RunEvent, frozen=True, kw_only=True, tag="permission"):
    """An agent's request for permission was answered."""

    title: str
    kind: str = ""
    is_allowed: bool
    by: str
    """`policy`, `person`, `person, always`, or `nobody`."""


class AttentionOpened(RunEvent, frozen=True, kw_only=True, tag="attention"):
    """Something waits for a person."""

    id: str
    kind: AttentionKind
    title: str
    task: str = ""


class RunSteered(RunEvent, frozen=True, kw_only=True, tag="steered"):
    """A person paused, resumed or stopped the run from elsewhere, or sent an agent a message."""

    kind: Literal["pause", "resume", "message", "stop"]
    by: str
    text: str = ""


class HookRan(RunEvent, frozen=True, kw_only=True, tag="hook"):
    """A hook ended."""

    hook: str
    command: str
    is_ok: bool
    said: str = ""
    """What went wrong with it."""


class TaskMoved(RunEvent, frozen=True, kw_only=True, tag="task"):
    """A task of the run was added, taken, finished or blocked."""

    task: str
    title: str
    status: str


class TasksProgressed(RunEvent, frozen=True, kw_only=True, tag="progress"):
    """How many of the run's tasks are closed."""

    closed: int
    total: int


class ChangesCommitted(RunEvent, frozen=True, kw_only=True, tag="committed"):
    """The changes of an iteration are in git."""

    commit: str
    files: int


class CheckStarted(RunEvent, frozen=True, kw_only=True, tag="check_started"):
    """A check of a task begins to run."""

    task: str
    check: str
    is_merged: bool = False
    """Whether it runs on what merging the task's branch gives."""


class CheckProgressed(RunEvent, frozen=True, kw_only=True, tag="check_progress"):
    """What a running check does, or what it wrote last."""

    task: str
    check: str
    said: str


class CheckEnded(RunEvent, frozen=True, kw_only=True, tag="check_ended"):
    """A check of a task has run."""

    task: str
    check: str
    verdict: Verdict
    reason: str = ""
    """Why it is not a pass."""

    commit: str = ""
    evidence: str = ""
    """The id of its result."""

    seconds: float = 0.0
    is_merged: bool = False


class ReviewOpened(RunEvent, frozen=True, kw_only=True, tag="review_opened"):
    """The change of an attempt waits for somebody to look at it."""

    task: str
    review: str
    commit: str
    require: ReviewRequirement
    """Who has to accept it."""

    reasons: tuple[str, ...] = ()
    round: int = 1


class ReviewJudged(RunEvent, frozen=True, kw_only=True, tag="review_judged"):
    """An agent gave its verdict on the change of an attempt."""

    task: str
    review: str
    session: str
    """The session of the reviewer."""

    decision: ReviewDecision
    message: str = ""
    accepted: int = 0
    refused: int = 0
    """How many reviewers have decided how so far."""

    reviewers: int = 1
    """How many are asked. More than half of them decide."""

    status: ReviewStatus
    """The status of the review after it."""


class ReviewerFailed(RunEvent, frozen=True, kw_only=True, tag="reviewer_failed"):
    """An agent that was to review a change ended without a verdict."""

    task: str
    review: str
    session: str
    outcome: AttemptOutcome
    reason: str = ""


class ReviewSettled(RunEvent, frozen=True, kw_only=True, tag="review_settled"):
    """An accepted change was merged and its task closed, or it goes back to another attempt."""

    task: str
    review: str
    outcome: AttemptOutcome
    reason: str = ""
    status: str = ""
    """The status of the task after it."""


class RegressionFound(RunEvent, frozen=True, kw_only=True, tag="regression"):
    """A check with which a task was closed does not pass any more."""

    task: str
    """The task by which it is to be fixed: the same one, or one that was added for it."""

    how: str
    """`reopened`, `added`, `handed over` to a person, or `noted` with a task that is open already."""

    check: str
    tests: str = ""
    commit: str = ""
    """The commit that broke it; empty if it is not known."""

    broken_by: str = ""
    """The task whose change that commit is."""

    said: str = ""
    """The same in a sentence, or why no commit can be named."""


class BranchMerged(RunEvent, frozen=True, kw_only=True, tag="merged"):
    """The branch of a worker was merged, or not."""

    branch: str
    into: str
    conflicts: tuple[str, ...] = ()
    task: str = ""
    """The task that resolves the conflict, or that is to pass its checks when merged."""

    refused: str = ""
    """What its checks said of the merged tree, if it was not merged because of that."""


class ListedRequirement(Struct, frozen=True, kw_only=True):
    """A requirement of the specification, with its first line."""

    id: str
    text: str


class SpecificationChanged(RunEvent, frozen=True, kw_only=True, tag="specification"):
    """A run has another specification than before: what is new is planned, and the rest stays."""

    added: tuple[ListedRequirement, ...] = ()
    removed: tuple[ListedRequirement, ...] = ()
    """No longer in it. Tasks that covered them stay."""


class CoverageReported(RunEvent, frozen=True, kw_only=True, tag="coverage"):
    """Everything is planned: how much of the specification the tasks cover."""

    total: int
    """Requirements of the specification."""

    missing: tuple[ListedRequirement, ...] = ()
    """Those that no task covers."""


class WorkerWaiting(RunEvent, frozen=True, kw_only=True, tag="waiting"):
    """A worker waits."""

    why: str
    seconds: float = 0.0
    """How long at most; 0 if unknown."""


class WarningReported(RunEvent, frozen=True, kw_only=True, tag="warned"):
    """Something is wrong, but the run continues."""

    message: str
    hint: str = ""


class IterationEnded(RunEvent, frozen=True, kw_only=True, tag="iteration_ended"):
    """An iteration is over."""

    number: int
    summary: str
    task: str = ""
    seconds: float = 0.0


class AttemptEnded(RunEvent, frozen=True, kw_only=True, tag="attempt_ended"):
    """An attempt at a task is settled."""

    number: int
    task: str
    outcome: AttemptOutcome
    reason: str = ""
    status: str = ""
    """The status of the task after it."""


class RunEnded(RunEvent, frozen=True, kw_only=True, tag="run_ended"):
    """A run is over, with its reason."""

    session: str
    name: str
    why: EndKind
    said: str
    """The reason in a sentence."""

    hint: str = ""
    iterations: int = 0
    """Iterations that this run made."""

    unfinished: int = 0
    """Attempts that ended without success, of the complete run."""

    commits: int = 0
    """Attempts whose changes were committed, of the complete run."""

    files: int = 0
    """Files that they changed."""

    closed: int = 0
    """Tasks that this run closed."""

    proof: ClosedCount = ClosedCount()
    """The same, by how well it is known that they are done."""

    left: int = 0
    """Tasks that are not closed."""

    seconds: float = 0.0
    tokens: int = 0
    cost: float = 0.0
    kept: tuple[str, ...] = ()
    """Branches, refs and folders with work that is not in the person's branch."""

    behind: str = ""
    """Why the person's branch does not have everything that is done, and how to bring it in."""

    waiting: tuple[str, ...] = ()
    """What waits for a person, each with the command for it."""


def describe_question(question: Question) -> str:
    """A question that waits for a person, in a line, with the command that answers it."""
    words = " ".join(question.text.split())
    shown = words if len(words) <= MAX_QUESTION_CHARACTERS else f"{words[:MAX_QUESTION_CHARACTERS]}…"
    return f"{question.task_id}: {shown} (bn ask answer {question.id} TEXT)"


def describe_waiting_review(review: Review) -> str:
    """A review that waits, in a line, with the command that shows it."""
    words = review.handed_over or "; ".join(review.reasons)
    why = f": {words[:MAX_QUESTION_CHARACTERS]}" if words else ""
    commit = review.commit_id[:SHORT_COMMIT_CHARACTERS]
    return f"{review.task_id}: a review of commit {commit}{why} (bn review show {review.task_id})"


Tell = Callable[[RunEvent], None]
"""Takes every event as it happens."""
