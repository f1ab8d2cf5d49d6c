"""The place of a comment on a change, and what a person sees of it in their editor."""

from collections.abc import Sequence
from typing import NamedTuple

from binnacle.errors import InvalidInput, Refused
from binnacle.git.command import Git
from binnacle.git.commit_content import read_lines
from binnacle.project.project import Project
from binnacle.store import review_remarks, reviews
from binnacle.store.transaction import Writer
from binnacle.tools.work.reviews import read_reviewed_line
from binnacle.work import steps
from binnacle.work.evidence import SHORT_COMMIT_CHARACTERS
from binnacle.work.review import Review, ReviewRemark, parse_place

AROUND = 5
"""Lines before and after the one that is commented."""

SCISSORS = "# ------------------------ >8 ------------------------"

INSTRUCTIONS = (
    SCISSORS,
    "# Write above this line; what is below it is left out.",
    "# An empty text keeps nothing.",
    "#",
)
FOOTER = ("#", "# (the end of the code)", "#", "#", "#", "#")
"""Editors look for settings in the last lines of a file, which must not be those of somebody's code."""


class CommentPlace(NamedTuple):
    """Where a comment belongs."""

    path: str = ""
    line: int = 0
    code: str = ""
    around: Sequence[str] = ()
    """Numbered lines of the file."""


async def find_place(project: Project, review: Review, text: str, *, inside: str = "") -> CommentPlace:
    """The place that a person names, from the top of the repository or from the folder they are in.

    Raises:
        InvalidInput: it is not in the reviewed commit.
    """
    git = Git(project.repo)
    path, line = parse_place(text.removeprefix("./"))
    if inside:
        inner = f"{inside}/{path}"
        is_above = await read_lines(git, review.commit_id, path) is not None
        if not is_above and await read_lines(git, review.commit_id, inner) is not None:
            path = inner
    code = await read_reviewed_line(git, review, path, line)
    lines = await read_lines(git, review.commit_id, path) or []
    first = max(1, line - AROUND)
    shown = lines[first - 1 : line + AROUND] if line else []
    return CommentPlace(path, line, code, [_number(first + step, one, line) for step, one in enumerate(shown)])


def keep_comment(tx: Writer, found: Review, place: CommentPlace, body: str) -> ReviewRemark:
    """Keeps a comment as a draft.

    Raises:
        Refused: the review is over by now.
    """
    current = reviews.get(tx, found.id)
    if current.status != "open":
        hint = (steps.comment(found.task_id), steps.LIST_REVIEWS)
        raise Refused(f"review {current.id} is over: {current.status}", hint=hint)
    return review_remarks.add(tx, current, body, path=place.path, line=place.line, code=place.code)


def _number(number: int, text: str, chosen: int) -> str:
    return f"{'>' if number == chosen else ' '}{number:>6} {text}"


def make_template(review: Review, place: CommentPlace) -> str:
    """What the editor begins with: room to write, and below it what the comment is about."""
    short = review.commit_id[:SHORT_COMMIT_CHARACTERS]
    where = place.path or "the change as a whole"
    at = f", line {place.line}" if place.line else ""
    return "\n".join(
        (
            "",
            *INSTRUCTIONS,
            _hide_controls(f"# A comment on {review.task_id}, commit {short}: {where}{at}"),
            "#",
            *(_hide_controls(f"# {line}") for line in place.around),
            *FOOTER,
            "",
        )
    )


def make_reason_template(review: Review, title: str) -> str:
    """What the editor begins with when changes are asked for."""
    short = review.commit_id[:SHORT_COMMIT_CHARACTERS]
    about = _hide_controls(f"# What has to be another way in {review.task_id} ({title}), commit {short}?")
    return "\n".join(("", *INSTRUCTIONS, about, *FOOTER, ""))


def _hide_controls(text: str) -> str:
    return "".join(one if one.isprintable() or one == "\t" else " " for one in text)


def read_written(text: str) -> str:
    """What a person wrote above the scissors; without those, the lines that are no remarks.

    Raises:
        InvalidInput: there is nothing.
    """
    above, has_scissors, _ = text.replace("\r\n", "\n").partition(SCISSORS)
    lines = above.split("\n")
    kept = lines if has_scissors else [line for line in lines if not line.startswith("#")]
    found = "\n".join(kept).strip()
    if not found:
        raise InvalidInput("nothing was written, so nothing was kept", hint="write above the line, or use -m 'TEXT'")
    return found
