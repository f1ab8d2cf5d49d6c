"""The sections of a prompt: each is a function of the loaded data, and empty if there is nothing to show.

An entry begins at the start of a line and its further lines are indented, so that `prompt` can drop whole entries.
Sections name no tools: only the instructions do.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from binnacle.plan.past_attempts import PastAttempt
from binnacle.plan.prompt_data import CHANGE, ListedTask, PastOutcome, PromptData, first_sentence
from binnacle.plan.tool_mentions import Step
from binnacle.work.journal import Note
from binnacle.work.learning import Learning
from binnacle.work.review import describe_remark
from binnacle.work.review_material import describe_earlier, describe_findings, describe_results, describe_subject
from binnacle.work.run import AttemptOutcome
from binnacle.work.status import PRIORITIES

COMMIT_CHARACTERS = 12
"""Of a commit's id, which are enough to find it."""


class SectionForm(NamedTuple):
    """The format of a section in the prompt."""

    heading: str
    share: float
    """The share of the budget that it may use; 0 for sections that are never cut, because they decide."""

    noun: str = "lines"
    """What its entries are called in the line that says how many were cut."""

    newest_last: bool = False
    """Whether the beginning is cut instead of the end."""

    rest: Step = ()
    """Wordings of the sentence that says how to see what was cut."""


def project(loaded: PromptData) -> str:
    counts = loaded.overview
    name = loaded.project if loaded.project == loaded.root else f"{loaded.project} (in {loaded.root}/)"
    stand = [f"{count} {status.replace('_', ' ')}" for status, count in counts.by_status.items()]
    tasks_ = f"{counts.tasks} tasks: {', '.join(stand)}; {counts.ready} can be taken now." if counts.tasks else ""
    return _join_lines(f"{name}: {loaded.description}" if loaded.description else f"{name}.", tasks_)


def codebase(loaded: PromptData) -> str:
    found = loaded.codebase
    if found is None or not (found.languages or found.entries):
        return ""
    files = ", ".join(f"{count} {language}" for language, count in found.languages)
    if not found.is_whole:
        files += " among the files read; the repository is larger"
    more = f"- … {found.left_out} more" if found.left_out else ""
    return _join_lines(f"Source files: {files or 'none'}.", *(f"- {entry}" for entry in found.entries), more)


def features(loaded: PromptData) -> str:
    return _join_lines(*(_title_line(one.name, one.title, first_sentence(one.description)) for one in loaded.features))


def disciplines(loaded: PromptData) -> str:
    return _join_lines(*(_title_line(one.name, one.title, ", ".join(one.skills)) for one in loaded.disciplines))


def feature(loaded: PromptData) -> str:
    one = loaded.feature
    if one is None:
        return ""
    name = one.name if one.title.casefold() == one.name.casefold() else f"{one.name}, {one.title}"
    return _join_paragraphs(
        _join_lines(f"{name}.", one.description),
        f"Architecture: {one.architecture}" if one.architecture else "",
        f"Not part of it: {one.boundaries}" if one.boundaries else "",
        f"Builds on: {', '.join(one.dependencies)}" if one.dependencies else "",
    )


def files(loaded: PromptData) -> str:
    return _join_lines(*(f"- {one.path}{'' if one.exists else ' (no longer exists)'}" for one in loaded.files))


def learnings(loaded: PromptData) -> str:
    return _join_lines(*(_learning(one) for one in loaded.learnings))


def persona(loaded: PromptData) -> str:
    one = loaded.discipline
    if one is None:
        return ""
    return _join_paragraphs(
        f"**{one.title}**",
        one.system_prompt,
        f"Skills: {', '.join(one.skills)}" if one.skills else "",
        f"Conventions: {one.conventions}" if one.conventions else "",
    )


def progress(loaded: PromptData) -> str:
    return _join_lines(*(_item(f"{_age(one.created_at, loaded.now)}: {one.text}") for one in loaded.progress))


def notes(loaded: PromptData) -> str:
    return _join_lines(*(_item(f"[{one.type}{_iteration(one)}] {one.content}") for one in loaded.notes))


def history(loaded: PromptData) -> str:
    return _join_lines(
        *(
            _item(f"Iteration {one.number}, {_age(one.ended_at or one.started_at, loaded.now)}: {one.summary}")
            for one in loaded.history
        )
    )


def tasks(loaded: PromptData) -> str:
    return _join_lines(*(_task(one, loaded) for one in loaded.listing))


def dependencies(loaded: PromptData) -> str:
    return _join_lines(*(_outcome(one) for one in loaded.dependencies))


def attempts(loaded: PromptData) -> str:
    said = [_item(_attempt(one, loaded.now)) for one in loaded.attempts]
    reported = [report for one in loaded.attempts for report in one.reports]
    left = [one for one in loaded.remaining if not any(one in report for report in reported)]
    return _join_lines(*said, *(f"- Left to do: {_indent(one)}" for one in left))


def comments(loaded: PromptData) -> str:
    return _join_lines(
        *(_item(f"{one.author}, {_age(one.created_at, loaded.now)}: {one.body}") for one in loaded.comments)
    )


def answers(loaded: PromptData) -> str:
    return _join_lines(*(_item(one) for one in loaded.answers))


def remarks(loaded: PromptData) -> str:
    return _join_lines(*(_item(describe_remark(one)) for one in loaded.remarks))


def task(loaded: PromptData) -> str:
    if loaded.task is None:
        return ""
    one = loaded.task.task
    facts = [f"{one.kind}, {PRIORITIES[one.priority]} priority, {one.status.replace('_', ' ')}"]
    facts += [f"feature {one.feature}"] if one.feature else []
    facts += [f"about {one.estimated_turns} turns"] if one.estimated_turns else []
    return _join_paragraphs(
        f"**{one.id}: {one.title}** ({'; '.join(facts)})",
        one.description,
        _list("It is done when:", one.acceptance_criteria),
        f"How to do it:\n```\n{one.pseudocode}\n```" if one.pseudocode else "",
        f"Hints: {one.hints}" if one.hints else "",
        _list("Files to produce:", one.output_artifacts),
        _list("Its parts:", [f"[{part.id}] {part.title} ({part.status})" for part in loaded.task.parts]),
        _list("Waiting for it:", [f"[{other.id}] {other.title}" for other in loaded.task.dependents]),
    )


def requirements(loaded: PromptData) -> str:
    if loaded.task is None:
        return ""
    covered = _join_lines(*(_item(one) for one in loaded.requirements))
    if loaded.asked_file:
        whole = f"`{loaded.asked_file}` has the specification."
        return _join_paragraphs(covered, whole if covered else f"{whole} Read what concerns your task.")
    return covered or (loaded.user_input if loaded.run else "")


OWN_FOLDER = "You work in the person's own folder, on the branch that is checked out. Stay on it."


def situation(loaded: PromptData) -> str:
    run = loaded.run
    if run is None or loaded.task is None:  # who plans changes nothing
        return ""
    base = f", which begins at commit {run.base[:COMMIT_CHARACTERS]}" if run.base else ""
    where = f"You are on the branch `{run.branch}`{base}. Stay on it." if run.branch else OWN_FOLDER
    checks = f"These commands check your work: {', '.join(f'`{one}`' for one in run.checks)}." if run.checks else ""
    attempt = f"This is attempt {run.attempt} of {run.attempts}." if run.attempt > 1 else ""
    return _join_lines(*(f"- {line}" for line in (where, checks, *run.may, attempt) if line))


def conflict(loaded: PromptData) -> str:
    return loaded.run.conflict.strip() if loaded.run else ""


def outline(loaded: PromptData) -> str:
    return loaded.run.part.outline if loaded.run and loaded.run.part else ""


def input_(loaded: PromptData) -> str:
    if loaded.run is None:
        return loaded.user_input
    part = loaded.run.part
    if loaded.task or part is None:  # an attempt gets what its task covers of it, in `requirements`
        return "" if loaded.task else loaded.user_input
    name = f"specification, {loaded.asked_file}" if loaded.asked_file else "specification"
    what = f"Part {part.number} of {part.total} of the {name}" if part.total > 1 else f"The {name}"
    return f"{what}:\n\n{part.text.strip()}"


def uncovered(loaded: PromptData) -> str:
    part = loaded.run.part if loaded.run else None
    if part is None or not part.uncovered:
        return ""
    others = "other requirements are" if part.covered > 1 else "other requirement is"
    count = f"{part.covered} {others} covered already."
    before = "This was planned before, but no task covers these:" if part.is_repeated else ""
    return _join_lines(
        before, *(_item(f"{one.id}: {one.text}") for one in part.uncovered), count if part.covered else ""
    )


def change(loaded: PromptData) -> str:
    found = loaded.change
    if found is None:
        return ""
    shown = [f"{one.number}. {one.describe()}" for one in found.criteria if one.shown_by]
    return _join_paragraphs(
        f"It is {describe_subject(found)}.",
        _list("Why it is reviewed:", found.review.reasons),
        _list("What it does to what judges it; look at this first:", describe_findings(found)),
        _list("What the checks said:", describe_results(found)),
        _list("What shows the criteria:", shown),
        _list("What reviewers asked for before:", describe_earlier(found)),
    )


def extra(loaded: PromptData) -> str:
    return loaded.extra


SECTIONS: dict[str, Callable[[PromptData], str]] = {
    "project": project,
    "codebase": codebase,
    "features": features,
    "disciplines": disciplines,
    "feature": feature,
    "files": files,
    "learnings": learnings,
    "persona": persona,
    "progress": progress,
    "notes": notes,
    "history": history,
    "tasks": tasks,
    "dependencies": dependencies,
    "comments": comments,
    "attempts": attempts,
    "answers": answers,
    "remarks": remarks,
    "requirements": requirements,
    "task": task,
    CHANGE: change,
    "conflict": conflict,
    "situation": situation,
    "outline": outline,
    "input": input_,
    "uncovered": uncovered,
    "extra": extra,
}

FORMS: dict[str, SectionForm] = {
    "project": SectionForm("Project", 0.05),
    "codebase": SectionForm("Codebase", 0.08),
    "features": SectionForm("Features", 0.10, "features", rest=("{feature_list} shows all.",)),
    "disciplines": SectionForm("Disciplines", 0.08, "disciplines", rest=("{discipline_list} shows all.",)),
    "feature": SectionForm("Feature", 0.15, rest=("{feature_get} shows all of it.",)),
    "files": SectionForm("Files worth reading first", 0.05, "files", rest=("{task_get} shows all.",)),
    "learnings": SectionForm("What is known", 0.15, "learnings", rest=("{learning_list} shows all.",)),
    "persona": SectionForm("Your discipline", 0.20, rest=("{discipline_get} shows all of it.",)),
    "progress": SectionForm("Progress", 0.06, "entries", newest_last=True, rest=("{progress_list} shows all.",)),
    "notes": SectionForm("Notes", 0.10, "notes", newest_last=True, rest=("{note_list} shows all.",)),
    "history": SectionForm("Recent iterations", 0.10, "iterations", newest_last=True),
    "tasks": SectionForm("Tasks", 0.20, "tasks", rest=("{task_list} shows all.",)),
    "dependencies": SectionForm(
        "What this builds on", 0.15, "tasks", rest=("{task_dependencies} shows all.", "{task_get} shows all.")
    ),
    "comments": SectionForm("Comments", 0.20, "comments", rest=("{task_get} shows all.",)),
    "attempts": SectionForm("Earlier attempts", 0, "attempts", newest_last=True),
    "answers": SectionForm("Answers to questions", 0),
    "remarks": SectionForm("What reviewers ask you to change", 0),
    "requirements": SectionForm("What was asked for", 0),
    "task": SectionForm("Your task", 0),
    CHANGE: SectionForm("The change to review", 0),
    "conflict": SectionForm("A conflict to resolve first", 0),
    "situation": SectionForm("Where you work and what you may do", 0),
    "outline": SectionForm("Outline of the complete specification", 0),
    "input": SectionForm("Input", 0),
    "uncovered": SectionForm("Requirements without a task", 0),
    "extra": SectionForm("Also", 0),
    "instructions": SectionForm("Instructions", 0),
}

DECIDING = ("attempts", "answers", "remarks", "requirements", "task", "conflict", "situation", "extra")
"""Sections without which an attempt of a run goes wrong: its prompt has them whatever its recipe lists."""


def _title_line(name: str, title: str, text: str) -> str:
    called = f"- {name}" if title.casefold() == name.casefold() else f"- {name} ({title})"
    return f"{called}: {text}" if text else called


def _learning(one: Learning) -> str:
    facts = [one.source, f"iteration {one.iteration}" if one.iteration is not None else ""]
    facts += ["" if one.reviewed else "unreviewed", f"observed {one.hit_count}x" if one.hit_count > 1 else ""]
    reason = f" ({one.reason})" if one.reason else ""
    return f"- {one.text} [{', '.join(fact for fact in facts if fact)}]{reason}"


def _iteration(note: Note) -> str:
    return "" if note.iteration is None else f", iteration {note.iteration}"


def _task(listed: ListedTask, loaded: PromptData) -> str:
    one = listed.task
    facts = ["" if one.status == "pending" else one.status.replace("_", " ")]
    facts += [f"held by {one.claimed_by}" if one.claimed_by else ""]
    facts += [one.feature if one.feature and loaded.feature is None else ""]
    facts += [f"depends on: {', '.join(listed.waits_for)}" if listed.waits_for else ""]
    is_planned = loaded.run is not None and loaded.run.part is not None
    facts += [f"covers {', '.join(one.covers)}" if is_planned and one.covers else ""]
    said = "; ".join(fact for fact in facts if fact)
    return f"- [P{one.priority}] [{one.id}] {one.title}{f' ({said})' if said else ''}"


def _outcome(one: PastOutcome) -> str:
    reason = f"; reason: {one.reason}" if one.reason else ""
    commits = f"; {_name_commits(one.commits)}" if one.commits else ""
    said = f"[{one.task.id}] {one.task.title} ({one.task.status.replace('_', ' ')}{reason}{commits})"
    return _item(f"{said}: {one.said}" if one.said else said)


def _name_commits(commits: Sequence[str]) -> str:
    return f"{'commits' if len(commits) > 1 else 'commit'} {', '.join(one[:COMMIT_CHARACTERS] for one in commits)}"


OUTCOME_WORDS: dict[AttemptOutcome, str] = {
    "done": "done",
    "partial": "partly done",
    "blocked": "blocked",
    "question": "a question was asked",
    "unfinished": "not finished",
    "unproven": "it was called done, and its checks did not show that",
    "failed": "the agent failed",
    "conflict": "its changes conflicted with others",
    "repeating": "it repeated the same step",
    "limit": "it reached a limit",
    "review": "its change was reviewed",
    "stopped": "it was stopped",
}
"""What an attempt led to, for the agent that makes the next one."""

REPORTED: tuple[AttemptOutcome, ...] = ("done", "partial", "blocked", "unfinished")
"""Outcomes that a report decides."""


def _attempt(one: PastAttempt, now: datetime) -> str:
    # A report says itself how the work went.
    ended = "" if one.reports and one.outcome in REPORTED else OUTCOME_WORDS.get(one.outcome, "")
    files = f" ({one.files} {'files' if one.files > 1 else 'file'} changed)" if one.files else ""
    said = _join_lines(
        ": ".join(part for part in (ended, one.reason) if part),
        *one.reports,
        one.summary,
        f"Its changes are in commit {one.commit_id[:COMMIT_CHARACTERS]}{files}." if one.commit_id else "",
    )
    return f"{f'{one.by}, ' if one.by else ''}{_age(one.at, now)}: {said}"


def _age(then: datetime, now: datetime) -> str:
    """How long ago it was, in the largest unit that fits."""
    seconds = int((now - then).total_seconds())
    for unit, length in (("week", 604_800), ("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            count = seconds // length
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"


def _list(heading: str, entries: Sequence[str]) -> str:
    return _join_lines(heading, *(_item(entry) for entry in entries)) if entries else ""


def _item(text: str) -> str:
    return f"- {_indent(text)}"


def _indent(text: str) -> str:
    """Text with its further lines indented, so that they belong to the same entry."""
    return "\n".join(f"  {line}".rstrip() if index else line for index, line in enumerate(text.splitlines()))


def _join_lines(*lines: str) -> str:
    return "\n".join(line for line in lines if line)


def _join_paragraphs(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)
