"""Whether acceptance criteria are proven: what each names as what shows it, next to the results of one tree."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from binnacle.work.acceptance import AcceptanceCriterion, parse_criterion
from binnacle.work.done_gate import is_same_test
from binnacle.work.evidence import SHORT_COMMIT_CHARACTERS, Evidence, describe_verdict

CriterionState = Literal["proven", "failed", "open"]
"""`open`: what shows it has not run on this tree, or could not."""


class CriterionProof(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An acceptance criterion that names a check or a test, and what that said."""

    text: str
    check: str = ""
    test: str = ""
    state: CriterionState = "open"
    commit: str = ""
    """The commit whose results say so."""

    reason: str = ""
    """Why it is not proven."""

    def describe(self) -> str:
        """What shows it and what that said: `check tests: proven at 1a2b3c4d`."""
        named = [f"check {self.check}" if self.check else "", f"test {self.test}" if self.test else ""]
        at = f" at {self.commit[:SHORT_COMMIT_CHARACTERS]}" if self.commit else ""
        said = {"proven": f"proven{at}", "failed": f"not proven{at}", "open": "not proven"}[self.state]
        return f"{', '.join(filter(None, named))}: {said}{f', {self.reason}' if self.reason else ''}"


def judge_criteria(lines: Sequence[str], results: Sequence[Evidence]) -> tuple[CriterionProof, ...]:
    """The criteria that name what shows them, each with what that said. `results` are of one tree, newest first."""
    parsed = map(parse_criterion, lines)
    return tuple(_judge(one, results) for one in parsed if one.check or one.test)


def join_plain(lines: Sequence[str], proofs: Sequence[CriterionProof]) -> list[CriterionProof]:
    """All criteria in their order: those of `judge_criteria`, and between them those that name nothing."""
    rest = iter(proofs)
    parsed = map(parse_criterion, lines)
    return [next(rest) if one.check or one.test else CriterionProof(text=one.text) for one in parsed]


def _judge(criterion: AcceptanceCriterion, results: Sequence[Evidence]) -> CriterionProof:
    found = [_judge_check(criterion.check, results)] if criterion.check else []
    found += [_judge_test(criterion.test, results)] if criterion.test else []
    states = [state for state, _ in found]
    state: CriterionState = "failed" if "failed" in states else "open" if "open" in states else "proven"
    return CriterionProof(
        text=criterion.text,
        check=criterion.check,
        test=criterion.test,
        state=state,
        commit=results[0].commit_id if results and state != "open" else "",
        reason="; ".join(reason for _, reason in found if reason),
    )


def _judge_check(name: str, results: Sequence[Evidence]) -> tuple[CriterionState, str]:
    newest = next((one for one in results if one.check_name == name), None)
    if newest is None:
        return "open", "the check has not run"
    if newest.verdict == "pass":
        return ("proven", "") if newest.decision == "allow" else ("open", "a person has to look at the change")
    return ("failed" if newest.verdict == "fail" else "open"), describe_verdict(newest)


def _judge_test(name: str, results: Sequence[Evidence]) -> tuple[CriterionState, str]:
    newest: dict[str, Evidence] = {}
    for one in results:
        newest.setdefault(one.check_name, one)
    if any(is_same_test(name, known) for one in newest.values() for known in one.failed):
        return "failed", "the test fails"
    passed = (known for one in newest.values() if one.verdict == "pass" for known in one.passed)
    if any(is_same_test(name, known) for known in passed):
        return "proven", ""
    return "open", "no check that passed has run the test"
