"""Reviews for people: what waits for whom, and one change with what is known of it, evidence first."""

from datetime import UTC, datetime

from binnacle.app.review_details import ReviewedCheck, ShownRemark, ShownVerdict
from binnacle.cli.review_answer import ShownReview, ShownRunChange
from binnacle.cli.review_diff_view import show_diff
from binnacle.cli.screen import Screen, mark_status
from binnacle.cli.views import ago, prose
from binnacle.cli.visible_text import visible
from binnacle.work.evidence import SHORT_COMMIT_CHARACTERS, describe_level
from binnacle.work.gaming import describe_finding
from binnacle.work.review import Review

MAX_FAILED_TESTS = 10
MAX_FINDINGS = 50

DECISION_WORDS = {"accept": ("✓", "green", "accepted"), "changes": ("✗", "red", "asked for changes of")}
VERDICT_SIGNS = {"pass": ("✓", "green"), "fail": ("✗", "red")}


def show_review(found: ShownReview, screen: Screen) -> None:
    """Prints a change: what judges it first, its code last."""
    task, review = found.task, found.review
    screen.heading(f"{task.id}  {task.title}")
    screen.line(mark_status(task.status))
    if review is not None:
        _show_subject(found, review, screen)
    if found.waits_for:
        screen.line(f"waits for {' and '.join(found.waits_for)}{_reasons(review)}")
        if review is not None and review.handed_over:
            screen.line(visible(review.handed_over))
    elif review is not None and review.status != "open":
        screen.line(f"the review is over: {review.status}")
    _show_findings(found, screen)
    _show_checks(found, screen)
    _show_criteria(found, screen)
    prose("Description", task.description, screen)
    _show_verdicts(found.verdicts, screen)
    show_remarks(found.remarks, screen)
    show_diff(found.diff, screen, show=f"bn review show {review.id if review else task.id}")
    if review is not None and review.status == "open":
        _show_next(review, screen)


def show_run_change(found: ShownRunChange, screen: Screen) -> None:
    """Prints what a run changed."""
    screen.heading(f"run {found.run} ({found.status})")
    for one in found.commits:
        screen.line(f"  {visible(one)}")
    show_diff(found.diff, screen, show=f"bn review show --run {found.run}")


def _show_subject(found: ShownReview, review: Review, screen: Screen) -> None:
    turn = f", round {review.round} of {review.rounds}" if review.round > 1 else ""
    run = f", by run {found.run}" if found.run else ""
    by = f" by {review.asked_by}" if review.asked_by else ""
    commit = review.commit_id[:SHORT_COMMIT_CHARACTERS]
    screen.line(f"commit {commit}, put up{by}{run} {ago(review.created_at)} ({review.id}{turn})")


def _reasons(review: Review | None) -> str:
    return f": {'; '.join(review.reasons)}" if review is not None and review.reasons else ""


def _show_findings(found: ShownReview, screen: Screen) -> None:
    if not found.findings:
        return
    screen.line()
    screen.heading("What it does to what judges it: look at this first")
    for one in found.findings[:MAX_FINDINGS]:
        screen.line(f"  {screen.styled('!', 'yellow')} {visible(describe_finding(one))}")
    if len(found.findings) > MAX_FINDINGS:
        screen.line(f"  … {len(found.findings) - MAX_FINDINGS} more")


def _show_checks(found: ShownReview, screen: Screen) -> None:
    screen.line()
    commit = found.review.commit_id if found.review else found.diff.commit
    at = max((one.at for one in found.checks), default=None)
    level = describe_level(found.level, commit, at, now=datetime.now(UTC))
    screen.heading(f"Evidence: {level or 'not proven'}")
    for one in found.checks:
        _show_check(one, commit, screen)
    if not found.checks:
        screen.line("  no check has run on it")


def _show_check(one: ReviewedCheck, commit: str, screen: Screen) -> None:
    mark, style = VERDICT_SIGNS.get(one.verdict, ("!", "yellow"))
    ran = "" if one.ran is None or one.verdict == "pass" else f", {one.ran} {'test' if one.ran == 1 else 'tests'}"
    elsewhere = f", at {one.commit[:SHORT_COMMIT_CHARACTERS]}" if one.commit != commit else ""
    words = visible(f"{one.name}: {one.words}{ran}{elsewhere}")
    screen.line(f"  {screen.styled(mark, style)} {words}, {ago(one.at)}")
    for test in one.failed[:MAX_FAILED_TESTS]:
        screen.line(f"      failed: {visible(test)}")
    if len(one.failed) > MAX_FAILED_TESTS:
        screen.line(f"      … {len(one.failed) - MAX_FAILED_TESTS} more")
    if one.verdict != "pass" and one.log:
        screen.line(f"      log: {visible(one.log)}")


def _show_criteria(found: ShownReview, screen: Screen) -> None:
    if not found.criteria:
        return
    screen.line()
    screen.heading("Acceptance criteria")
    for one in found.criteria:
        screen.line(f"  {one.number}. {visible(one.text)}")
        shown = visible(one.shown_by) if one.shown_by else "no check or test shows it"
        screen.line(screen.styled(f"     {shown}", "" if one.shown_by else "dim"))


def _show_verdicts(verdicts: tuple[ShownVerdict, ...], screen: Screen) -> None:
    if not verdicts:
        return
    screen.line()
    screen.heading("Verdicts")
    for one in verdicts:
        mark, style, words = DECISION_WORDS[one.decision]
        who = one.author if one.by_person else f"agent {one.author}"
        which = "this commit" if one.is_current else f"commit {one.commit[:SHORT_COMMIT_CHARACTERS]}"
        said = f"{visible(who)} {words} {which}, {ago(one.at)}"
        screen.line(f"  {screen.styled(mark, style)} {screen.styled(said, '' if one.is_current else 'dim')}")
        if one.message:
            screen.block("\n".join(map(visible, one.message.split("\n"))), indent=6)
        for criterion in one.criteria if one.is_current else ():
            met = "met" if criterion.met else "not met"
            note = f": {criterion.note}" if criterion.note else ""
            screen.line(visible(f"      {met} {criterion.place or '(no place)'}  {criterion.criterion}{note}"))


def show_remarks(remarks: tuple[ShownRemark, ...], screen: Screen) -> None:
    """Prints comments, each with its state."""
    if not remarks:
        return
    screen.line()
    screen.heading("Comments")
    for one in remarks:
        show_remark(one, screen)


def show_remark(one: ShownRemark, screen: Screen) -> None:
    """Prints a comment: its state, where it is, the code it is about, and what it says."""
    is_settled = one.state in ("addressed", "outdated")
    at = f" in {one.settled_commit[:SHORT_COMMIT_CHARACTERS]}" if one.settled_commit else ""
    where = one.place or "the change"
    commit = f" at {one.commit[:SHORT_COMMIT_CHARACTERS]}" if one.place else ""
    who = one.author if one.by_person else f"agent {one.author}"
    head = visible(f"{one.id} {one.state}{at}: {where}{commit}, {who}, {ago(one.at)}")
    screen.line(f"  {screen.styled(head, 'dim' if is_settled else '')}")
    if one.code.strip():
        screen.line(screen.styled(f"      │ {visible(one.code.strip().expandtabs(4))}", "dim"))
    for line in one.body.split("\n"):
        screen.line(f"      {visible(line)}")


def _show_next(review: Review, screen: Screen) -> None:
    screen.line()
    screen.line(f"accept exactly this:  bn review accept {review.id}")
    screen.line(f"ask for changes:      bn review reject {review.task_id} -m '…'")
    screen.line(f"comment on a line:    bn review comment {review.task_id} PATH:LINE -m '…'")
