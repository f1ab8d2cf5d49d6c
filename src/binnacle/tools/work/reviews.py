"""Tools for an agent that reviews a change: what it is about, its code at the commit, and the verdict on it.

They read commits, not folders: the working tree may be that of another commit. What a verdict names has to be there,
in the commit that is reviewed.
"""

import unicodedata
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from binnacle.errors import InvalidInput, NotFound, Refused
from binnacle.git.command import Git
from binnacle.git.commit_content import get_commit, read_diff, read_lines
from binnacle.store import review_decisions, reviewer_sessions, reviews, tasks
from binnacle.store.review_decisions import RemarkDraft, ReviewResult
from binnacle.store.transaction import Reader, Writer
from binnacle.store.views.review_material import load_material
from binnacle.tools.outcome import ToolReply
from binnacle.tools.work.task_text import TaskRef
from binnacle.tools.work.typed_tool import StoreCall, tool
from binnacle.work import steps
from binnacle.work.diff import FileDiff, number_lines
from binnacle.work.gaming import classify_path
from binnacle.work.review import (
    MAX_REMARKS,
    CriterionVerdict,
    Review,
    ReviewDecision,
    name_criteria,
    parse_place,
)
from binnacle.work.review_material import (
    ReviewMaterial,
    describe_earlier,
    describe_findings,
    describe_results,
    describe_subject,
)

CATEGORY = "reviews"

MAX_PAGE_CHARACTERS = 24_000
"""Characters of code in one answer."""

MAX_LISTED_FILES = 300
MAX_NAMED_CRITERIA = 10

NO_REVIEW = ("E_NOT_FOUND", "the task waits for no review")
NO_PLACE = ("E_INVALID_PARAMS", "a place is not in the commit, or a criterion has no verdict; the message names it")
NOT_A_REVIEWER = ("E_REFUSED", "the session was not opened for this review, or the review is over")

Path = Annotated[str, Meta(description="path from the top of the repository")]
Place = Annotated[str, Meta(description="path:line in the reviewed commit", examples=["src/app.py:12"])]


class CriterionInput(Struct, kw_only=True, forbid_unknown_fields=True):
    """The verdict on one acceptance criterion."""

    criterion: Annotated[str | int, Meta(description="its number")]
    met: bool
    place: Annotated[str, Meta(description="path:line of the code or test that shows it")] = ""
    note: str = ""


class RemarkInput(Struct, kw_only=True, forbid_unknown_fields=True):
    """A comment on the change."""

    text: Annotated[str, Meta(description="what is wrong, and what would be right")]
    place: Annotated[str, Meta(description="path:line; empty for the change as a whole")] = ""


@tool(title="Read a change to review", category=CATEGORY, errors=[NO_REVIEW])
async def review_get(
    call: StoreCall,
    task_id: TaskRef,
    *,
    since: Annotated[Literal["base", "last_review"], Meta(description="what the difference is compared with")] = "base",
    path: Annotated[str, Meta(description="only this file, and all of it, also if it was folded away")] = "",
    offset: Annotated[int, Meta(description="where the next part of a long difference begins", ge=0)] = 0,
) -> ToolReply:
    """Returns a change that waits for a review: task, criteria, results of checks, changed tests first, and the diff.

    Lines have their numbers in the reviewed commit.
    """
    material = await call.read(lambda tx: load_material(tx, _find_review(tx, task_id)))
    git, review = _git(call), material.review
    await get_commit(git, review.commit_id)
    before = (material.previous_commit if since == "last_review" else "") or review.base
    files, more = await read_diff(git, before, review.commit_id, only=[path] if path else ())
    files = sorted(files, key=lambda one: (classify_path(one.path) is None, one.path))
    if path and not files:
        raise NotFound(f"the change does not touch {path[:200]!r}", hint=steps.LIST_REVIEWS)
    text = "\n\n".join(f"=== {_name_path(one)}\n{number_lines(one.text)}" for one in files if one.text)
    page, rest = _cut_page(_show_controls(text), offset)
    data = _describe(material, files) if offset == 0 and not path else {"review": review.id}
    said = [] if offset or path else [_format(material, files, more, since=since)]
    said.append(page or "no text was changed")
    if rest:
        said.append(f"… {rest} more characters; the next part: offset {offset + len(page)}")
    return ToolReply({**data, "diff": page, **({"next_offset": offset + len(page)} if rest else {})}, "\n\n".join(said))


@tool(title="Read a file to review", category=CATEGORY, errors=[NO_REVIEW, ("E_NOT_FOUND", "no such file")])
async def review_file(
    call: StoreCall,
    task_id: TaskRef,
    path: Path,
    *,
    start: Annotated[int, Meta(description="the first line", ge=1)] = 1,
    before: Annotated[bool, Meta(description="the file as it was before the change")] = False,
) -> ToolReply:
    """Returns any file of the reviewed commit, with the numbers of its lines."""
    review = await call.read(lambda tx: _find_review(tx, task_id))
    name, _ = parse_place(path)
    commit = review.base if before else review.commit_id
    lines = await read_lines(_git(call), commit, name) if commit else None
    if lines is None:
        raise NotFound(
            f"no file {name!r} in commit {commit[:8] or 'before the change'}, or it is too long", hint="check the path"
        )
    numbered = [f"{number:>6} {line}" for number, line in enumerate(lines[start - 1 :], start)]
    page, rest = _cut_page(_show_controls("\n".join(numbered)), 0)
    shown = page.count("\n") + bool(page)
    data: dict[str, Any] = {"path": name, "lines": len(lines), "text": page}
    if rest:
        data["next_start"] = start + shown
        return ToolReply(data, f"{page}\n… {len(lines) - start + 1 - shown} more lines; start {start + shown}")
    return ToolReply(data, page or f"{name} has {len(lines)} lines")


@tool(
    title="Give the verdict",
    category=CATEGORY,
    writes=True,
    errors=[NO_REVIEW, NO_PLACE, NOT_A_REVIEWER],
    synonyms={"comments": "remarks", "summary": "message"},
)
async def review_verdict(
    call: StoreCall,
    task_id: TaskRef,
    review: Annotated[str, Meta(description="id of the review that you read", examples=["bnv-1f3a"])],
    decision: Annotated[ReviewDecision, Meta(description="accept it as it is, or ask for changes")],
    *,
    criteria: Annotated[tuple[CriterionInput, ...], Meta(description="for each criterion", max_length=100)] = (),
    remarks: Annotated[tuple[RemarkInput, ...], Meta(description="what to change", max_length=MAX_REMARKS)] = (),
    message: Annotated[str, Meta(description="what you looked at, and why you decide so")] = "",
) -> ToolReply:
    """Accepts a change or asks for changes. Every criterion needs a verdict; a met one, the line that shows it."""
    found, texts = await call.read(lambda tx: _check_current(tx, task_id, review))
    judged = [await _find_shown(_git(call), found, one, texts) for one in criteria]
    drafts = [await _find_commented(_git(call), found, one) for one in remarks]

    def judge(tx: Writer) -> ReviewResult:
        current, _ = _check_current(tx, task_id, review)
        reviewer_sessions.check_is_reviewer(tx, current)
        return review_decisions.judge(
            tx, current, decision, criteria=judged, remarks=drafts, message=_clean_message(message)
        )

    result = await call.write(judge)
    data = {
        "review": result.review.id,
        "decision": decision,
        "status": result.review.status,
        "task": {"id": result.task.id, "status": result.task.status},
    }
    return ToolReply(data, f"{_describe_result(result)} Stop here: nothing else is left to do.")


def _find_review(tx: Reader, task_id: str) -> Review:
    return reviews.get_open(tx, tasks.get(tx, task_id).id)


def _check_current(tx: Reader, task_id: str, review_id: str) -> tuple[Review, list[str]]:
    """The review that is open, and the criteria of its task. What was read has to be what is judged.

    Raises:
        Refused: another one is open now.
    """
    task = tasks.get(tx, task_id)
    found = reviews.find_open(tx, task.id)
    if found is not None and found.id == review_id.strip().casefold():
        return found, name_criteria(task.acceptance_criteria)
    known = reviews.get(tx, review_id)
    if known.task_id != task.id:
        raise Refused(f"{known.id} is a review of {known.task_id}", hint="give the id that you read with the change")
    now = f"the change is another now, {found.id}: read it again" if found else "nothing is left to do; stop here"
    raise Refused(f"review {known.id} is over: {known.status}", hint=now)


def _git(call: StoreCall) -> Git:
    repo = call.caller.session.repo
    assert repo is not None, "a review was found, so there is a project"
    return Git(repo)


async def _find_shown(git: Git, found: Review, one: CriterionInput, texts: Sequence[str]) -> CriterionVerdict:
    """The verdict on a criterion, whose place is in the commit.

    Raises:
        InvalidInput: there is no such criterion, or no such place.
    """
    place = ""
    if one.place.strip():
        path, line = parse_place(one.place.strip(), needs_line=one.met)
        await read_reviewed_line(git, found, path, line)
        place = f"{path}:{line}" if line else path
    note = _clean_message(one.note)
    return CriterionVerdict(criterion=_find_criterion(one.criterion, texts), met=one.met, place=place, note=note)


def _find_criterion(given: str | int, texts: Sequence[str]) -> str:
    """The text of the criterion that is meant by its text or its number."""
    word = " ".join(str(given).split())
    for text in texts:
        if " ".join(text.split()).casefold() == word.casefold():
            return text
    number = word.strip("#.) ")
    if number.isascii() and number.isdecimal() and 1 <= int(number[:6]) <= len(texts):
        return texts[int(number[:6]) - 1]
    named = "; ".join(f"{index}. {text[:80]}" for index, text in enumerate(texts[:MAX_NAMED_CRITERIA], 1))
    raise InvalidInput(f"no criterion {word[:100]!r}", hint=f"name one by its number: {named or 'there is none'}")


async def _find_commented(git: Git, found: Review, one: RemarkInput) -> RemarkDraft:
    """A comment, with the line that it is about.

    Raises:
        InvalidInput: the place is not in the change.
    """
    if not one.place.strip():
        return RemarkDraft(one.text)
    path, line = parse_place(one.place.strip())
    return RemarkDraft(one.text, path, line, await read_reviewed_line(git, found, path, line))


async def read_reviewed_line(git: Git, found: Review, path: str, line: int) -> str:
    """A line of the reviewed commit; empty for line 0, which is the file, also if the change removes it.

    Raises:
        InvalidInput: it is not there.
    """
    lines = await read_lines(git, found.commit_id, path)
    if lines is None:
        if not line and found.base and await read_lines(git, found.base, path) is not None:
            return ""
        raise InvalidInput(f"{path} is not in the reviewed commit", hint="name a file that the commit has")
    if line > len(lines):
        raise InvalidInput(f"{path} has {len(lines)} lines, not {line}", hint="read the file with its line numbers")
    return lines[line - 1] if line else ""


def _clean_message(text: str) -> str:
    return text.strip()[: reviews.MAX_MESSAGE_CHARACTERS]


def _describe_result(result: ReviewResult) -> str:
    match result.review.status:
        case "accepted":
            return f"Accepted: {result.task.id} is {result.task.status.replace('_', ' ')}."
        case "changes":
            return f"Changes are asked for: {result.task.id} goes back with {result.sent} comments."
    return f"Your verdict on {result.task.id} is kept; others decide with you."


def _describe(material: ReviewMaterial, files: Sequence[FileDiff]) -> dict[str, Any]:
    review, task = material.review, material.task
    found: dict[str, Any] = {
        "review": review.id,
        "commit": review.commit_id,
        "base": review.base,
        "round": review.round,
        "task": {"id": task.id, "title": task.title, "description": task.description},
        "criteria": msgspec.to_builtins(material.criteria),
        "checks": describe_results(material),
        "changed_tests": describe_findings(material),
        "asked_before": describe_earlier(material),
        "files": [_name_file(one) for one in files[:MAX_LISTED_FILES]],
    }
    return {name: value for name, value in found.items() if value not in ("", [], ())}


def _format(material: ReviewMaterial, files: Sequence[FileDiff], more: int, *, since: str) -> str:
    task = material.task
    hidden = len(files) - MAX_LISTED_FILES
    listed = [_name_file(one) for one in files[:MAX_LISTED_FILES]]
    listed += [f"… {more + max(0, hidden)} more files"] if more or hidden > 0 else []
    added, removed = sum(one.added for one in files), sum(one.removed for one in files)
    compared = "since the last review" if since == "last_review" and material.previous_commit else "in all"
    parts = (
        f"{task.id}: {task.title}\nThe change: {describe_subject(material)}",
        task.description,
        _list("Criteria:", [f"{one.number}. {one.describe()}" for one in material.criteria], mark=""),
        _list("What it does to what judges it, look at this first:", describe_findings(material)),
        _list("Checks:", describe_results(material)),
        _list("Asked for before:", describe_earlier(material)),
        _list(f"Files {compared}: {len(files) + more}, +{added} -{removed}", listed),
    )
    return "\n\n".join(part for part in parts if part)


def _list(heading: str, entries: Sequence[str], *, mark: str = "- ") -> str:
    return "\n".join((heading, *(f"{mark}{entry}" for entry in entries))) if entries else ""


def _name_file(one: FileDiff) -> str:
    kind = classify_path(one.path)
    facts = [f"was {_show_controls(one.before)}" if one.before else ""]
    facts += [one.status if one.status != "changed" else "", one.note, kind or ""]
    facts += [f"folded: {one.folded}; read it by its path" if one.folded else ""]
    said = ", ".join(fact for fact in facts if fact)
    return f"{_name_path(one)} +{one.added} -{one.removed}{f' ({said})' if said else ''}"


def _name_path(one: FileDiff) -> str:
    return _show_controls(one.path).replace("\n", "<U+000A>")


def _cut_page(text: str, offset: int) -> tuple[str, int]:
    """A part of a text that ends with a line where that is possible, and how many characters are left."""
    page = text[offset : offset + MAX_PAGE_CHARACTERS]
    if offset + len(page) < len(text) and "\n" in page:
        page = page[: page.rindex("\n") + 1]
    return page, max(0, len(text) - offset - len(page))


def _show_controls(text: str) -> str:
    """Text in which characters that hide or turn other text can be seen."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        c if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Co") else f"<U+{ord(c):04X}>" for c in text
    )
