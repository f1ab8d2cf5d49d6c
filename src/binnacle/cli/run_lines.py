"""A run as lines: for logs and pipes, above the live view, and its last words for everyone."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from binnacle.cli.escaping import escape_for_terminal
from binnacle.cli.run_footer import elapsed, thousands
from binnacle.cli.screen import Screen
from binnacle.cli.wrapping import wrap_words
from binnacle.runner import run_events
from binnacle.runner.run_events import RunEnded, RunEvent

ENDINGS = {
    "complete": ("✓", "green"),
    "unproven": ("◇", "yellow"),
    "interrupted": ("■", "yellow"),
    "budget": ("■", "yellow"),
    "needs_input": ("?", "magenta"),
    "no_ready_task": ("■", "yellow"),
    "stagnation": ("✗", "red"),
    "agent_failing": ("✗", "red"),
    "hook_failed": ("✗", "red"),
    "aborted": ("✗", "red"),
    "error": ("✗", "red"),
}

Styled = tuple[str, str]
"""A text and its style."""


def print_json(event: RunEvent) -> None:
    """Prints an event as one line of JSON, with the time."""
    fields = msgspec.to_builtins(event)
    line = {"event": fields.pop("event"), "at": datetime.now(UTC).isoformat(timespec="milliseconds"), **fields}
    sys.stdout.buffer.write(escape_for_terminal(msgspec.json.encode(line)) + b"\n")
    sys.stdout.buffer.flush()


def local_time() -> str:
    """The time of day here, for a line of a log."""
    return time.strftime("%H:%M:%S")


class RunLines:
    """Says what happens, a line for each thing that a person may want to know; on a terminal, long ones are wrapped."""

    def __init__(
        self, screen: Screen, write: Callable[[str], None] | None = None, *, clock: Callable[[], str] | None = None
    ) -> None:
        """Lines are printed on `screen`, unless there is another way to `write` them; with a `clock`, with the time."""
        self._screen = screen
        self._write = write or screen.line
        self._clock = clock
        self._titles: dict[tuple[int, str], str] = {}
        """Of the tool calls, by worker and id."""

        self.unfinished: dict[int, str] = {}
        """What each agent has said of its last line."""

    def tell(self, event: RunEvent) -> None:
        """Says what an event is about."""
        if isinstance(event, run_events.AgentSaid):
            self._say(event)
            return
        self._line(event.worker, f"  {self.unfinished.pop(event.worker, '')}", "dim")
        if isinstance(event, run_events.ToolCalled):
            self._line(event.worker, *self._tool(event))
        elif isinstance(event, run_events.SpecificationChanged | run_events.CoverageReported):
            for line in _requirements(event):
                self._line(event.worker, line, "yellow" if line.startswith(" ") else "")
        elif said := _SAID.get(type(event)):
            self._line(event.worker, *said(event))
        if isinstance(event, run_events.AgentStarted):
            self._titles.clear()

    def _say(self, event: run_events.AgentSaid) -> None:
        """What an agent says, by whole lines; its thoughts are left out."""
        if event.is_thought:
            return
        *whole, self.unfinished[event.worker] = (self.unfinished.get(event.worker, "") + event.text).split("\n")
        for line in whole:
            self._line(event.worker, f"  {line}".rstrip(), "dim")

    def _line(self, worker: int, text: str, style: str) -> None:
        if not text.strip():
            return
        line = f"[{worker}] {text}" if worker > 1 else text
        line = f"{self._clock()} {line}" if self._clock else line
        indent = 4 if self._clock is None else len(self._clock()) + 3
        for piece in wrap_words(line, self._screen.width, indent=indent) if self._screen.is_terminal else [line]:
            self._write(self._screen.styled(piece, style))

    def _tool(self, event: run_events.ToolCalled) -> Styled:
        """A line when a tool call begins, and one if it fails."""
        key = (event.worker, event.id)
        is_new = key not in self._titles
        title = self._titles[key] = event.title or self._titles.get(key, "")
        if event.status == "failed":
            return f"✗ {title}", "yellow"
        return (f"· {title}", "") if is_new else ("", "")


def _started(event: run_events.RunStarted) -> Styled:
    how = "resumes" if event.goes_on else "starts"
    return f"run {event.name} {how}: {event.agent}, recipe {event.recipe}, session {event.session}", "bold"


def _iteration(event: run_events.IterationStarted) -> Styled:
    what = ", ".join(filter(None, ("planning", event.plans))) if event.is_planning else f"iteration {event.number}"
    what = f"review, agent {event.reviewer}" if event.reviewer else what
    task = f": {event.task}" if event.task else ""
    return f"── {what}{' resumes' if event.goes_on else ''}{task}", "bold"


def _agent(event: run_events.AgentStarted) -> Styled:
    return f"{event.agent} {'continues its session' if event.was_loaded else 'is at work'}", ""


def _attempt(event: run_events.AttemptEnded) -> Styled:
    """An attempt that did not finish its task; what is done or reviewed is told elsewhere."""
    if event.outcome in ("done", "review"):
        return "", ""
    reason = f": {event.reason.partition(chr(10))[0]}" if event.reason else ""
    then = {"needs_input": "; it waits for your answer", "pending": "; it will be tried again"}.get(event.status, "")
    return f"{event.task} is not done ({event.outcome}){reason}{then}", "yellow"


def _requirements(event: run_events.SpecificationChanged | run_events.CoverageReported) -> list[str]:
    """What is said of the specification, with a line for each requirement that a person has to know of."""
    if isinstance(event, run_events.CoverageReported):
        covered = event.total - len(event.missing)
        missing = [f"  not covered: {one.id} {one.text}" for one in event.missing]
        return [f"tasks cover {covered} of {event.total} requirements", *missing]
    return [
        f"the specification has changed: {len(event.added)} requirement(s) new, {len(event.removed)} gone",
        *(f"  new: {one.id} {one.text}" for one in event.added),
        *(f"  gone: {one.id} {one.text}" for one in event.removed),
    ]


def _check_started(event: run_events.CheckStarted) -> Styled:
    return f"check {event.check} runs on {_name_tree(event.task, is_merged=event.is_merged)}", ""


def _check_ended(event: run_events.CheckEnded) -> Styled:
    verdict = event.verdict.replace("_", " ")
    reason = f", {event.reason.partition(chr(10))[0]}" if event.reason else ""
    where = _name_tree(event.task, is_merged=event.is_merged)
    return f"check {event.check} on {where}: {verdict}{reason}", "green" if event.verdict == "pass" else "yellow"


def _name_tree(task: str, *, is_merged: bool) -> str:
    if not task:
        return "all that is merged"
    return f"{task} as merged" if is_merged else task


def _regression(event: run_events.RegressionFound) -> Styled:
    said = f": {event.said}" if event.said else ""
    return f"check {event.check} of a closed task no longer passes{said}; {event.task} {event.how}", "yellow"


def _review_opened(event: run_events.ReviewOpened) -> Styled:
    who = {"agent": "an agent", "person": "you", "both": "an agent, and then you"}.get(event.require, "somebody")
    why = f" ({'; '.join(event.reasons)})" if event.reasons else ""
    return f"{event.task} waits for {who} to review commit {event.commit[:10]}{why}", "magenta"


def _review_judged(event: run_events.ReviewJudged) -> Styled:
    count = ""
    if event.reviewers > 1:
        count = f" ({event.accepted} of {event.reviewers} agents accept it, {event.refused} ask for changes)"
    said = event.message.strip().partition("\n")[0]
    why = f": {said}" if said else ""
    if event.decision == "accept":
        return f"{event.task} was accepted by an agent{count}{why}", "green"
    return f"an agent asks for changes of {event.task}{count}{why}", "yellow"


def _reviewer_failed(event: run_events.ReviewerFailed) -> Styled:
    reason = event.reason.partition("\n")[0]
    return f"no verdict on {event.task} ({event.outcome}): {reason}", "yellow"


def _review_settled(event: run_events.ReviewSettled) -> Styled:
    """What is done is told with the task."""
    if event.outcome in ("done", "stopped"):
        return "", ""
    reason = event.reason.partition("\n")[0]
    return f"{event.task} was accepted, and cannot be merged ({event.outcome}): {reason}", "yellow"


def _merged(event: run_events.BranchMerged) -> Styled:
    if event.refused:
        said = f"{event.branch} is not merged into {event.into}, because its checks do not pass there"
        return f"{said}; the next attempt fixes it", "yellow"
    if event.conflicts:
        files = ", ".join(event.conflicts)
        return f"{event.branch} conflicts with {event.into} in {files}; the next attempt resolves it", "yellow"
    return f"{event.branch} is merged into {event.into}", ""


def _permission(event: run_events.PermissionDecided) -> Styled:
    said = "allowed" if event.is_allowed else "refused"
    return (f"{said} ({event.by}): {event.title}", "") if event.by != "own tool" else ("", "")


def _attention(event: run_events.AttentionOpened) -> Styled:
    how = f"bn review show {event.task}" if event.kind == "review" else f"bn session answer {event.id}"
    return f"? {event.kind}: {event.title} ({how})", "magenta"


_STEERED = {"pause": "paused", "resume": "resumed", "message": "sent a message", "stop": "stopped the run"}


def _steered(event: run_events.RunSteered) -> Styled:
    said = f": {event.text}" if event.text else ""
    return f"{event.by or 'somebody'} {_STEERED[event.kind]}{said}", "yellow"


def _hook(event: run_events.HookRan) -> Styled:
    return (f"hook {event.hook}: {event.command}", "") if event.is_ok else (f"hook {event.said}", "yellow")


def _waiting(event: run_events.WorkerWaiting) -> Styled:
    return f"waiting{f' {event.seconds:.0f} s' if event.seconds else ''}: {event.why}", "yellow"


def _warned(event: run_events.WarningReported) -> Styled:
    return f"{event.message}{f' ({event.hint})' if event.hint else ''}", "yellow"


def _committed(event: run_events.ChangesCommitted) -> Styled:
    return f"committed {count(event.files, 'file')} as {event.commit[:10]}", ""


_SAID: dict[type[RunEvent], Callable[[Any], Styled]] = {
    run_events.RunStarted: _started,
    run_events.IterationStarted: _iteration,
    run_events.AgentStarted: _agent,
    run_events.PermissionDecided: _permission,
    run_events.AttentionOpened: _attention,
    run_events.RunSteered: _steered,
    run_events.HookRan: _hook,
    run_events.TaskMoved: lambda event: (f"{event.task} {event.status}: {event.title}", "cyan"),
    run_events.TasksProgressed: lambda event: (f"{event.closed} of {event.total} tasks closed", ""),
    run_events.ChangesCommitted: _committed,
    run_events.CheckStarted: _check_started,
    run_events.CheckEnded: _check_ended,
    run_events.RegressionFound: _regression,
    run_events.ReviewOpened: _review_opened,
    run_events.ReviewJudged: _review_judged,
    run_events.ReviewerFailed: _reviewer_failed,
    run_events.ReviewSettled: _review_settled,
    run_events.BranchMerged: _merged,
    run_events.WorkerWaiting: _waiting,
    run_events.WarningReported: _warned,
    run_events.IterationEnded: lambda event: (f"   {event.summary}", "green"),
    run_events.AttemptEnded: _attempt,
}


def show_end(ended: RunEnded, screen: Screen) -> None:
    """The summary of a run: how it ended, what it did and took, what it left, and what to do next."""
    mark, style = ENDINGS[ended.why]
    screen.line(f"{screen.styled(f'{mark} {ended.why}', style)}: {ended.said}")
    rows = [
        ("tasks", _tasks(ended)),
        ("attempts", _attempts(ended)),
        ("changes", f"{count(ended.commits, 'commit')}, {count(ended.files, 'file change')}" if ended.commits else ""),
        ("took", _took(ended)),
    ]
    for name, text in rows:
        if text:
            screen.line(f"  {name:<9} {text}")
    for line in _left(ended):
        screen.line(f"  {line}")
    for line in ended.waiting:
        screen.line(f"  {screen.styled('waits for you:', 'magenta')} {line}")
    if ended.hint:
        screen.line(f"{screen.styled('hint:', 'cyan')} {ended.hint}")
    screen.line(screen.styled(f"details: bn session show {ended.name or ended.session}", "dim"))


def _tasks(ended: RunEnded) -> str:
    return f"{ended.proof.describe() or 'none closed'}; {ended.left} left"


def _attempts(ended: RunEnded) -> str:
    failed = f", {ended.unfinished} without success" if ended.unfinished else ""
    return f"{ended.iterations}{failed}" if ended.iterations else ""


def _took(ended: RunEnded) -> str:
    parts = [elapsed(ended.seconds)]
    parts += [f"{thousands(ended.tokens)} tokens"] if ended.tokens else []
    parts += [f"cost {ended.cost:.2f}"] if ended.cost else []
    return ", ".join(parts)


def _left(ended: RunEnded) -> Iterator[str]:
    """What has work that is nowhere else, each with the way to it."""
    if ended.behind:
        yield ended.behind
    for kept in ended.kept:
        if kept.startswith("refs/"):
            yield f"stored: {kept}; see it with: git log -p -1 {kept}; take it with: git cherry-pick {kept}"
        elif os.path.isabs(kept):
            yield f"left: {kept} has files that are in no commit"
        elif not ended.behind or not kept.endswith("/run"):
            yield f"not merged: {kept}; see it with: git log -p ..{kept}; take it with: git merge {kept}"


def count(number: int, what: str) -> str:
    """A number of things."""
    return f"{number} {what}{'' if number == 1 else 's'}"
