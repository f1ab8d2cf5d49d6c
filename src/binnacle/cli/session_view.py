"""A session or a run for people: how it stands, and its tasks with every attempt."""

from binnacle.cli.screen import STATUS_MARKS, Screen
from binnacle.cli.session_answer import SessionAnswer, SessionTotals
from binnacle.cli.views import fields
from binnacle.work.amounts import describe_cost, describe_seconds, describe_tokens
from binnacle.work.session import Iteration


def show_session(answer: SessionAnswer, screen: Screen) -> None:
    """Shows a session, or a run with all its sessions."""
    session, run, totals = answer.session, answer.run, answer.totals
    screen.heading(f"{session.id}  {session.name or session.recipe}")
    names = ("status", "reason", "recipe", "discipline", "feature", "task_id", "created_at", "ended_at", "place")
    pairs = [(name, getattr(session, name)) for name in names]
    if run is not None:
        ended = f": {run.why}, {run.said}" if run.why else ""
        pairs += [("run", f"{run.id}, {run.status}{ended}"), ("branch", run.branch), ("asked in", run.asked_file)]
        pairs += [("sessions", answer.sessions if len(answer.sessions) > 1 else ())]
    pairs += _totals(totals) if totals else []
    fields([*pairs, ("folder", answer.folder)], screen)
    for one in answer.iterations:
        if one.task_started is None:
            _show_attempt(one, screen)
    for task in answer.tasks:
        mark, style = STATUS_MARKS.get(task.status, ("?", ""))
        screen.line()
        screen.line(screen.styled(f"{mark} {task.id} {task.status or 'deleted'}  {task.title}", style or "bold"))
        for one in answer.iterations:
            if one.task_started == task.id:
                _show_attempt(one, screen)
    if any(one.agent for one in answer.iterations):
        screen.line()
        screen.line(screen.styled(f"what was said: bn session transcript {session.id} --iteration N", "dim"))


def _totals(totals: SessionTotals) -> list[tuple[str, object]]:
    commits = f"{len(totals.commits)} ({totals.files} file changes)" if totals.commits else ""
    return [
        ("agents", totals.agents),
        ("iterations", totals.iterations),
        ("time", describe_seconds(totals.seconds) if totals.seconds else ""),
        ("tokens", describe_tokens(totals.tokens) if totals.tokens else ""),
        ("cost", describe_cost(totals.cost) if totals.cost else ""),
        ("commits", commits),
    ]


def _show_attempt(one: Iteration, screen: Screen) -> None:
    """An attempt in a line, why it did not succeed, and its summary."""
    what = "planning" if one.number == 0 else f"iteration {one.number}"
    facts = [what, one.outcome or ("under way" if one.ended_at is None else "")]
    facts += [f"{one.agent} {one.model}".strip(), describe_seconds(one.seconds) if one.seconds else ""]
    facts += [f"{describe_tokens(one.tokens)} tokens" if one.tokens else ""]
    facts += [describe_cost({one.currency: one.cost}) if one.currency else ""]
    facts += [f"commit {one.commit_id[:10]}, {one.files} file(s)" if one.commit_id else ""]
    screen.line()
    screen.heading(f"  {' · '.join(filter(None, facts))}")
    if one.reason and one.outcome != "done":
        screen.line(screen.styled(f"    why: {one.reason}", "yellow"))
    screen.block(one.summary or ("(under way)" if one.ended_at is None else "(no summary)"), indent=4)
