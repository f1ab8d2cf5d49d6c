"""What the views show when there is much of it: a large graph, weeks of work, agents, servers that misbehave.

It is written into the store and the files of a project directly, which needs no loop of events and takes a second.
"""

import json
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from binnacle.app import trust_review
from binnacle.project.project import Project, find_project
from binnacle.project.store_opening import open_store
from binnacle.sessions.planning import session_folder
from binnacle.store import agents, attempts, sessions, task_moves, tasks
from binnacle.store.attempts import Spending
from binnacle.store.transaction import Writer
from binnacle.work.actor import Actor
from binnacle.work.task import NewTask

Result = TypeVar("Result")

HOSTILE = "<img src=x onerror='alert(1)'>\u202e [go](javascript:alert(2))"
"""A text that must stay text."""

ROGUE = str(Path(__file__).parents[1] / "upstream" / "rogue.py")
PERSON = Actor("ann", "human")


def change_store(repo: Path, change: Callable[[Writer], Result], *, by: Actor = PERSON) -> Result:
    """Changes the store of a project, as another process on this machine does."""
    with open_store(find_project(str(repo))) as store, store.write(by=by) as tx:
        return change(tx)


def add_tasks(repo: Path, *new: NewTask) -> list[str]:
    return change_store(repo, lambda tx: [task.id for task in tasks.add(tx, new)])


def add_layered_tasks(repo: Path, count: int, *, width: int = 40) -> list[str]:
    """Tasks in layers: each waits for two of the layer before."""

    def waits_for(number: int) -> tuple[str, ...]:
        if number < width:
            return ()
        above = number - number % width - width
        return tuple({f"#{above + (number * step) % width + 1}" for step in (1, 7)})

    words = ("cart", "checkout", "shipping", "invoice", "search", "login", "prices", "returns")
    return add_tasks(
        repo,
        *(NewTask(title=f"Let the {words[at % 8]} know of step {at}", depends_on=waits_for(at)) for at in range(count)),
    )


def add_weeks_of_work(repo: Path, *, days: int = 30) -> None:
    """Tasks that were added, done and proven, and runs that cost something, on each of the last days."""
    project, now = find_project(str(repo)), datetime.now(UTC)

    def stamp(ago: float) -> str:
        return (now - timedelta(days=ago)).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def change(tx: Writer) -> list[str]:
        for day in range(days):
            several = tasks.add(tx, [NewTask(title=f"Work of day {day}, part {part}") for part in range(2 + day % 3)])
            for at, task in enumerate(several):
                if (at + day) % 4 != 3:
                    task_moves.start(tx, task.id)
                    task_moves.finish(tx, task.id)
                    level = "checked" if (at + day) % 3 else "said"
                    tx.run("update task set evidence_level = ? where id = ?", level, task.id)
                    tx.run("update task set closed_at = ? where id = ?", stamp(day + 0.2), task.id)
                tx.run("update task set created_at = ? where id = ?", stamp(day + 1 + at), task.id)
        return [_add_spending(tx, day, stamp(day)) for day in range(0, days, 2)]

    for session in change_store(repo, change):
        _write_transcript(project, session)


def _add_spending(tx: Writer, day: int, at: str) -> str:
    session = sessions.start(tx, name=f"day {day}", recipe=("loop", "task_execution", "loop_debug")[day % 3])
    sessions.join_run(tx, session.id, f"run-{day}", "here")
    sessions.begin_iteration(tx, session.id, first=1)
    attempts.note_agent(tx, session.id, 1, ("goose", "claude")[day // 2 % 2], ("small", "large")[day // 4 % 2])
    spent = Spending(seconds=60 * (day + 1))
    if day % 5 != 4:
        spent = Spending(seconds=60 * (day + 1), tokens=1000 * (day + 1), cost=0.05 * (day % 7 + 1), currency="USD")
    attempts.note_spending(tx, session.id, 1, spent)
    tx.run("update iteration set started_at = ? where session = ?", at, session.id)
    return session.id


def _write_transcript(project: Project, session: str) -> None:
    folder = Path(session_folder(project, session))
    folder.mkdir(parents=True, exist_ok=True)
    call = {"iteration": 1, "kind": "tool"}
    lines = [
        {"at": "2026-11-19T08:00:00.000+00:00", **call, "id": "a", "title": "Run", "tool": "execute"},
        {"at": "2026-11-19T08:00:02.500+00:00", **call, "id": "a", "status": "failed"},
        {"at": "2026-11-19T08:00:03.000+00:00", **call, "id": "b", "tool": "read", "status": "in_progress"},
        {"at": "2026-11-19T08:00:03.100+00:00", **call, "id": "b", "status": "completed"},
    ]
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    (folder / "transcript.jsonl").write_text(text)


def start_work(repo: Path, title: str, *, agent: str = "rivet", **where: Any) -> tuple[str, str]:
    """An agent that has started a task: their ids. `where` is the process that it is known by."""
    registered = change_store(repo, lambda tx: agents.register(tx, name=agent, is_shell=bool(where), **where).id)
    (task,) = add_tasks(repo, NewTask(title=title))
    change_store(repo, lambda tx: task_moves.start(tx, task), by=Actor(registered, "agent"))
    return registered, task


def misbehaving_server(*words: str, **more: Any) -> dict[str, Any]:
    """An upstream server that behaves as it is told; see `upstream/rogue.py`."""
    return {"command": sys.executable, "args": ["-S", ROGUE, *words], "connect_timeout": 20, **more}


def configure_person(**servers: dict[str, Any]) -> None:
    """Servers in the person's own file, which need no approval."""
    _write_servers(Path(os.environ["XDG_CONFIG_HOME"], "binnacle", "mcp.json"), servers)


def configure_project(repo: Path, **servers: dict[str, Any]) -> None:
    """Servers that came with the project, which a person has to approve."""
    _write_servers(repo / ".binnacle" / "mcp.json", servers)


def _write_servers(path: Path, servers: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"servers": servers}))


def approve_all(repo: Path) -> None:
    project = find_project(str(repo))
    found = trust_review.look(project)
    trust_review.grant(project, [one.item for one in found.standings], how="terminal")
