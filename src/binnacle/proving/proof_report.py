"""A proof in words that an agent can act on: what failed, whether it failed before, and what to do next."""

from collections.abc import Sequence

from binnacle.proving.change_prover import TaskProof
from binnacle.work.evidence import SHORT_COMMIT_CHARACTERS, Evidence
from binnacle.work.gaming import describe_finding
from binnacle.work.text import take_last_lines

MAX_NAMED_TESTS = 10
MAX_NAMED_FILES = 5
MAX_NAMED_FINDINGS = 8
MAX_EXCERPT_CHARACTERS = 2500
"""Characters of one log that an agent reads. The end of a log says what went wrong."""

MAX_EXCERPTS_CHARACTERS = 6000


def describe_missing(found: TaskProof, *, room: int = MAX_EXCERPTS_CHARACTERS) -> str:
    """What is missing before a task is done, with the part of each log that says why, in `room` characters."""
    commit = found.proof.commit_id[:SHORT_COMMIT_CHARACTERS]
    gaps = [one for one in found.gaps if not one.is_for_review] or found.gaps  # who looks at it comes after that
    lines = [f"not done, at commit {commit}: {'; '.join(one.text for one in gaps)}"]
    lines += _describe_uncommitted(found.change.range.uncommitted)
    for one in found.change.results:
        if one.verdict == "pass" and one.decision == "allow":
            continue
        said = describe_result(one, room=min(room, MAX_EXCERPT_CHARACTERS))
        room -= min(room, len(one.log_excerpt))
        lines += ["", *said]
    return "\n".join(lines)


def describe_result(one: Evidence, *, room: int = MAX_EXCERPT_CHARACTERS) -> list[str]:
    """A result as lines: the verdict, the tests, the findings, and the end of the log."""
    lines = [f"check {one.check_name}: {one.verdict.replace('_', ' ')}{f', {one.reason}' if one.reason else ''}"]
    for words, ids in (
        ("fails now, and not before this change", one.new_failed),
        ("failed before this change, too, and does not count", one.old_failed),
        ("failed, and passed in the second run", one.flaky),
    ):
        if ids:
            lines.append(f"{words}: {_name_some(ids, MAX_NAMED_TESTS)}")
    if one.decision != "allow":
        lines += [f"  {describe_finding(finding)}" for finding in one.findings[:MAX_NAMED_FINDINGS]]
    if one.log_excerpt and room > 0:
        lines += ["end of its log:", take_last_lines(one.log_excerpt, room)]
    return lines


def _describe_uncommitted(files: Sequence[str]) -> list[str]:
    if not files:
        return []
    return [f"not committed, and so not checked: {_name_some(files, MAX_NAMED_FILES)}; commit what belongs to the task"]


def _name_some(names: Sequence[str], most: int) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"
