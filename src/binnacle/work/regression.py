"""A regression: a check of a closed task that a later commit broke, in words for whoever has to fix it."""

from collections.abc import Sequence

from msgspec import Struct

from binnacle.work.evidence import SHORT_COMMIT_CHARACTERS
from binnacle.work.text import take_last_lines
from binnacle.work.verification import BrokenTests, VerifiedCheck, name_tests

MAX_EXCERPT_CHARACTERS = 2500
"""Characters of a log that an agent reads. The end of a log says what went wrong."""


class Culprit(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The commit that broke a check."""

    commit: str
    title: str = ""
    author: str = ""
    task: str = ""
    """The task whose change it is; empty for a commit by hand."""

    task_title: str = ""
    suspects: tuple[str, ...] = ()
    """The commits of which one broke it, oldest first, if those between could not be judged."""


class CulpritSearch(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a search for the commit that broke a check found."""

    culprit: Culprit | None = None
    why_not: str = ""
    """Why no commit can be named."""

    commits: int = 0
    """How many commits came into question."""

    probes: int = 0
    """How often the check was run to find it."""

    passed_before: bool = False
    """Whether the check passes here on the commit with which the task was closed."""


class Regression(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What no longer holds, of one task or, without one, of the project."""

    task_id: str = ""
    check: str
    broken_tests: BrokenTests = BrokenTests()
    reason: str = ""
    commit: str
    """Where it was seen."""

    passed_at: str = ""
    """The commit on which it passed."""

    evidence: str = ""
    search: CulpritSearch = CulpritSearch()
    log_excerpt: str = ""
    tasks: tuple[str, ...] = ()
    """For a check of the project: the tasks that were closed with it."""

    is_failure: bool = True
    """Whether the check fails. If it could not run, it is broken only if it could before."""

    @property
    def is_certain(self) -> bool:
        return self.is_failure or self.search.passed_before


def make_regression(task_id: str, check: VerifiedCheck, search: CulpritSearch, *, commit: str) -> Regression:
    """The regression of one check of a task."""
    now, then = check.now, check.then
    return Regression(
        task_id=task_id,
        check=check.name,
        broken_tests=check.broken_tests,
        reason=check.reason,
        commit=commit,
        passed_at=then.commit_id if then is not None else "",
        evidence=now.id if now is not None else "",
        search=search,
        log_excerpt=now.log_excerpt if now is not None else "",
        is_failure=check.state == "broken",
    )


def group_by_task(found: Sequence[Regression]) -> list[list[Regression]]:
    """The regressions of each task together, and each of the project by itself."""
    groups: dict[tuple[str, str], list[Regression]] = {}
    for one in found:
        groups.setdefault((one.task_id, "" if one.task_id else one.check), []).append(one)
    return list(groups.values())


def describe_culprit(found: CulpritSearch) -> str:
    """Who broke it, in a sentence without its end; empty if nobody looked."""
    one = found.culprit
    if one is None:
        return f"which commit broke it is not known: {found.why_not}" if found.why_not else ""
    words = f"{_shorten(one.commit)}{f' ({one.title})' if one.title else ''}"
    whose = f", of {one.task}{f' ({one.task_title})' if one.task_title else ''}" if one.task else ""
    if len(one.suspects) > 1:
        return f"one of {', '.join(map(_shorten, one.suspects))} broke it; those between could not be judged"
    return f"the commit {words}{whose} broke it"


def describe_regression(one: Regression) -> str:
    """What no longer holds, why and since when: the comment for whoever takes the task up again."""
    tests = (*one.broken_tests.failed, *one.broken_tests.missing)
    lines = [f"the check {one.check!r} no longer passes at {_shorten(one.commit)}: {one.reason or 'it fails'}"]
    if tests:
        lines.append(f"tests: {name_tests(tests)}")
    if one.passed_at:
        lines.append(f"it passed at {_shorten(one.passed_at)}")
    if culprit := describe_culprit(one.search):
        lines.append(culprit)
    if one.tasks:
        lines.append(f"closed with it: {', '.join(one.tasks)}")
    if one.log_excerpt:
        lines += ["end of its log:", take_last_lines(one.log_excerpt, MAX_EXCERPT_CHARACTERS)]
    return "\n".join(lines)


def title_of_regression(one: Regression) -> str:
    """The title of a task that fixes a regression."""
    culprit = one.search.culprit
    since = f" since {_shorten(culprit.commit)}" if culprit is not None else f" at {_shorten(one.commit)}"
    of = f" of {one.task_id}" if one.task_id else ""
    return f"Regression: the check {one.check}{of} fails{since}"


def _shorten(commit: str) -> str:
    return commit[:SHORT_COMMIT_CHARACTERS]
