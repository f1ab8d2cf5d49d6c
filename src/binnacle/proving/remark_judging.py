"""What a newer commit means for comments of reviewers: whether their places were changed since."""

from collections.abc import Sequence

from binnacle.git.command import Git
from binnacle.git.commit_content import find_commit, read_hunks, read_lines
from binnacle.proving.proof_store import ProofStore
from binnacle.store import review_remarks
from binnacle.work.diff import follow_line
from binnacle.work.ids import TaskId
from binnacle.work.review import RemarkState, ReviewRemark, is_followed, judge_remark


async def judge_remarks(git: Git, store: ProofStore, task_id: TaskId, commit: str, *, is_by_attempt: bool) -> None:
    """Notes which comments on a task's changes are addressed or outdated at a commit.

    `is_by_attempt` says that the commit is the work of the agent that got the comments. A comment on the change as a
    whole stays as it is, and so does one on a commit that the repository no longer has.
    """
    known = await store.read(lambda tx: review_remarks.list_remarks(tx, task_id))
    waiting = [one for one in known if is_followed(one) and one.commit_id != commit]
    judged = [(one, await _judge(git, one, commit, is_by_attempt=is_by_attempt)) for one in waiting]
    if changed := [(one, state) for one, state in judged if state != one.state]:
        await store.write(lambda tx: review_remarks.settle_each(tx, changed, commit=commit))


async def _judge(git: Git, remark: ReviewRemark, commit: str, *, is_by_attempt: bool) -> RemarkState:
    if not await find_commit(git, remark.commit_id) or not await find_commit(git, commit):
        return remark.state
    hunks = await read_hunks(git, remark.commit_id, commit, remark.path)
    if not remark.line:  # on the file: any change of it is one of the place
        return judge_remark(remark, "" if not hunks else None, is_by_attempt=is_by_attempt)
    line = follow_line(hunks, remark.line)
    lines = await read_lines(git, commit, remark.path) if line is not None else None
    return judge_remark(remark, _find_code(lines, line), is_by_attempt=is_by_attempt)


def _find_code(lines: Sequence[str] | None, line: int | None) -> str | None:
    """A line as it is kept with a comment; None if there is none."""
    if lines is None or line is None or line > len(lines):
        return None
    return review_remarks.clean_code(lines[line - 1])
