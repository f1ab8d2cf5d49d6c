"""What still holds of what was proven: what the checks of a closed task say now, next to what they said then.

A check holds if it passes now, or if nothing fails but what failed when the task was closed. A test that a criterion
names holds if it ran and passed. What could not run, took too long or is flaky shows neither: it is unclear. Rules over
values; `proving.verification` gets the results.
"""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Literal

from msgspec import Struct

from binnacle.work.bisection import ProbeResult
from binnacle.work.done_gate import is_same_test
from binnacle.work.evidence import SHORT_COMMIT_CHARACTERS, Evidence, EvidenceLevel, describe_age, describe_verdict

HoldState = Literal["holds", "broken", "unclear", "unchecked", "said", "waived", "open"]
"""`unchecked`: proven, but by no check that could run again. `said`: nothing was proven. `waived`: closed without its
checks. `open`: not done."""

MAX_NAMED_TESTS = 10


class NeededCheck(Struct, frozen=True, kw_only=True):
    """A check that a task was closed with, or names."""

    name: str
    definition: str = ""
    """As it is trusted now; empty if it cannot be run."""

    problem: str = ""
    """Why it cannot be run."""

    is_own: bool = False
    """Whether the task itself, its criteria or its feature name it, and not only the project."""

    then: Evidence | None = None
    """The result with which the task was closed."""


class BrokenTests(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What of a check does not hold any more."""

    failed: tuple[str, ...] = ()
    """Tests that fail, and did not fail when the task was closed."""

    missing: tuple[str, ...] = ()
    """Tests that criteria name, and that have not passed."""


class VerifiedCheck(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a check says now about a closed task."""

    name: str
    state: HoldState
    reason: str = ""
    is_own: bool = False
    broken_tests: BrokenTests = BrokenTests()
    stale: tuple[str, ...] = ()
    """Why the evidence of the task does not count any more: another definition, another environment."""

    now: Evidence | None = None
    then: Evidence | None = None

    @property
    def is_suspect(self) -> bool:
        """Whether a commit may have broken it, which then can be looked for."""
        return self.now is not None and self.state != "holds" and self.now.verdict in ("pass", "fail", "could_not_run")


def judge_check(needed: NeededCheck, now: Evidence | None, tests: Sequence[str]) -> VerifiedCheck:
    """What a check says now. `tests` are those that the task's criteria name and that this check ran before."""
    then = needed.then
    if now is None:
        said = needed.problem or "it was not run"
        return VerifiedCheck(name=needed.name, state="unclear", reason=said, is_own=needed.is_own, then=then)
    broken_tests = find_broken_tests(now, then, tests)
    is_known = bool(now.failed) and not broken_tests.failed
    state: HoldState = "broken" if broken_tests.missing else "holds"
    if now.verdict == "fail" and not is_known:
        state = "broken"
    elif now.verdict not in ("pass", "fail"):
        state = "unclear"
    return VerifiedCheck(
        name=needed.name,
        state=state,
        reason=_describe(now, broken_tests, state, is_known=is_known),
        is_own=needed.is_own or bool(broken_tests.missing),
        broken_tests=broken_tests,
        stale=find_staleness(now, then),
        now=now,
        then=then,
    )


def find_broken_tests(now: Evidence, then: Evidence | None, tests: Sequence[str]) -> BrokenTests:
    """The tests that do not hold any more."""
    before = frozenset(then.failed) if then is not None else frozenset()
    is_telling = now.verdict in ("pass", "fail")
    return BrokenTests(
        failed=tuple(one for one in now.failed if one not in before) if now.verdict == "fail" else (),
        missing=tuple(one for one in tests if is_telling and not has_passed(one, now)),
    )


def has_passed(test: str, result: Evidence) -> bool:
    """Whether a test that a criterion names passed, and nothing of that name failed."""
    if any(is_same_test(test, known) for known in result.failed):
        return False
    return any(is_same_test(test, known) for known in result.passed)


def find_staleness(now: Evidence, then: Evidence | None) -> tuple[str, ...]:
    """Why the evidence with which a task was closed does not count for what is there now."""
    if then is None:
        return ()
    found = []
    if then.definition != now.definition:
        found.append("the check was changed and trusted again since")
    if then.environment != now.environment:
        words = f"{then.environment_summary} on {then.machine}, now {now.environment_summary} on {now.machine}"
        found.append(f"the environment is another one since: {words}")
    return tuple(found)


def judge_probe(seen: Evidence, target: VerifiedCheck) -> ProbeResult:
    """Whether a commit has what is broken now."""
    assert target.now is not None, "only what was run can be looked for"
    wanted = target.broken_tests
    if seen.verdict in ("timeout", "flaky"):
        return "unclear"
    if wanted.failed or wanted.missing:
        if seen.verdict == "could_not_run" or not (seen.passed or seen.failed):
            return "unclear"
        is_bad = any(one in seen.failed for one in wanted.failed) or any(
            not has_passed(one, seen) for one in wanted.missing
        )
        return "bad" if is_bad else "good"
    if seen.verdict == "pass":
        return "good"
    return "bad" if seen.verdict == target.now.verdict else "unclear"


class VerifiedTask(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What still holds of a task."""

    task_id: str
    title: str
    state: HoldState
    level: EvidenceLevel = ""
    commit: str = ""
    """The commit of the evidence with which it was closed."""

    proven_at: datetime | None = None
    checks: tuple[VerifiedCheck, ...] = ()


def judge_task(checks: Collection[VerifiedCheck]) -> HoldState:
    """What still holds of a proven task, by its checks."""
    states = {one.state for one in checks}
    if "broken" in states:
        return "broken"
    if "unclear" in states:
        return "unclear"
    return "holds" if states else "unchecked"


def describe_proof_then(check: VerifiedCheck, *, now: datetime) -> str:
    """The evidence with which a task was closed, in a few words."""
    if check.then is None:
        return "without a result on record"
    return f"passed at {check.then.commit_id[:SHORT_COMMIT_CHARACTERS]}, {describe_age(check.then.created_at, now=now)}"


def _describe(now: Evidence, broken_tests: BrokenTests, state: HoldState, *, is_known: bool) -> str:
    if state == "holds":
        return "fails as it did when the task was closed" if is_known and now.verdict == "fail" else ""
    said = [] if now.verdict == "pass" else [describe_verdict(now)]
    if broken_tests.missing:
        said.append(f"not passed: {name_tests(broken_tests.missing)}")
    return "; ".join(said)


def name_tests(tests: Sequence[str]) -> str:
    """Some tests by name."""
    more = f" and {len(tests) - MAX_NAMED_TESTS} more" if len(tests) > MAX_NAMED_TESTS else ""
    return f"{', '.join(tests[:MAX_NAMED_TESTS])}{more}"
