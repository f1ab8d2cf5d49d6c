"""Evidence: the results of checks, and how well it is known that a task is done. `done_gate` has what they prove."""

from datetime import datetime
from typing import Literal

from msgspec import Struct

from binnacle.work.gaming import ChangeFinding, PolicyDecision
from binnacle.work.ids import TaskId
from binnacle.work.verdict import Verdict

EvidenceLevel = Literal["", "said", "observed", "checked", "merged", "waived", "accepted"]
"""How well it is known that a task is done; empty while it is not done.

`said`: in words only. `observed`: what its agent ran by itself to test it ended with 0 (`observation`). `checked`: its
checks passed here, on that tree. `merged`: they passed on the merged tree. `waived`: a person closed it without them,
with a reason. `accepted`: a person or an independent reviewer looked at it.
"""

LEVEL_WORDS: dict[EvidenceLevel, str] = {
    "": "",
    "said": "said",
    "observed": "observed",
    "checked": "checked",
    "merged": "checked as merged",
    "waived": "waived",
    "accepted": "accepted",
}

PROVEN: tuple[EvidenceLevel, ...] = ("checked", "merged", "waived", "accepted")
"""Levels that are more than words."""

UNPROVEN_LEVELS: tuple[EvidenceLevel, ...] = ("said", "observed")

EVIDENCE_PREFIX = "bne-"
SHORT_COMMIT_CHARACTERS = 8

MAX_KEPT_IDS = 500
"""Ids of tests that a result keeps, of each kind."""


class Evidence(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of one check on one tree."""

    id: str
    check_name: str
    definition: str
    """Digest of everything that decides what the check runs."""

    commit_id: str
    tree: str
    base: str = ""
    """The commit that the change is compared with."""

    environment: str = ""
    """Digest of what the check ran in: programs, versions, platform."""

    environment_summary: str = ""
    verdict: Verdict
    reason: str = ""
    """Why it is not a pass."""

    exit_code: int | None = None
    ran: int | None = None
    """How many tests ran; None if its runner does not say."""

    passed: tuple[str, ...] = ()
    """Ids of tests that passed, as far as criteria name them."""

    failed: tuple[str, ...] = ()
    new_failed: tuple[str, ...] = ()
    """Those that do not fail on the base."""

    old_failed: tuple[str, ...] = ()
    """Those that fail on the base, too."""

    flaky: tuple[str, ...] = ()
    """Tests that failed, and passed in the second run."""

    decision: PolicyDecision = "allow"
    """Whether the project's policy lets it count. `ask` waits for a person: the change touches what judges it."""

    findings: tuple[ChangeFinding, ...] = ()
    """What the change did to tests and to what else judges it."""

    seconds: float = 0.0
    log: str = ""
    """Where its output is."""

    log_bytes: int = 0
    log_excerpt: str = ""
    """The part of the log that a reader needs first; empty for a pass."""

    machine: str = ""
    asked_by: str = ""
    task_id: TaskId | None = None
    run: str | None = None
    session: str | None = None
    tier: Literal["fast", "full"] = "fast"
    is_merged: bool = False
    """Whether the tree is the result of merging the change into the branch that it is for."""

    is_bug: bool = False
    """Whether a test of the change had to fail on the base."""

    created_at: datetime


class WorkStart(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where the work on a task began."""

    task_id: TaskId
    commits: tuple[str, ...]
    """The commit of the worker's tree, and then the tips of the main branches."""

    created_at: datetime


class Waiver(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """That a person closed a task without its checks."""

    id: str
    task_id: TaskId
    waived_by: str
    reason: str
    checks: tuple[str, ...] = ()
    """What was required and not proven."""

    created_at: datetime


class QuarantinedTest(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A flaky test whose failures do not count until a date. It goes on running."""

    check_name: str
    test_id: str
    owner: str
    """The person who fixes it."""

    reason: str = ""
    ends_at: datetime
    created_at: datetime


def describe_verdict(evidence: Evidence) -> str:
    """A result in a few words."""
    words = evidence.verdict.replace("_", " ")
    return f"{words} ({evidence.reason})" if evidence.reason else words


def describe_level(level: EvidenceLevel, commit: str = "", at: datetime | None = None, *, now: datetime) -> str:
    """A level with its commit and age: `checked at 1a2b3c4d, 2 h ago`. Empty for a task that is not done."""
    if not level:
        return ""
    when = f", {describe_age(at, now=now)}" if at is not None else ""
    return f"{describe_proof(level, commit)}{when}"


def describe_proof(level: EvidenceLevel, commit: str = "") -> str:
    """A level with its commit, for a list."""
    return f"{LEVEL_WORDS[level]} at {commit[:SHORT_COMMIT_CHARACTERS]}" if level and commit else LEVEL_WORDS[level]


def describe_age(moment: datetime, *, now: datetime) -> str:
    """How long ago something was, in one unit."""
    seconds = int((now - moment).total_seconds())
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return "just now"
