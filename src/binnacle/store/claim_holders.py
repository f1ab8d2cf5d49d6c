"""Agents that hold tasks, and which of them are gone. `task_moves` and `lapsed_claims` act on it."""

from binnacle.store.table import Table
from binnacle.store.transaction import Reader, Writer
from binnacle.work.session import Agent
from binnacle.work.task import Task, check_write

AGENTS = Table("agent", Agent, times=("created_at", "active_at", "ended_at"))

_HELD = "select claimed_by from task where claimed_by is not null and status = 'in_progress'"


def list_gone(tx: Reader) -> list[Agent]:
    """The agents that hold a task and whose process is known to be gone."""
    holders = AGENTS.select(tx, f"where ended_at is null and id in ({_HELD}) order by number")
    return [agent for agent in holders if tx.outlook.is_gone(agent)]


def check_change(tx: Writer, task: Task, *, fence: int | None, force: bool = False) -> None:
    """Refuses a change of a task by someone who lost it or never had it.

    The right fence is accepted from every connection of the holder's process: a client may have several, and each of
    them is a separate agent.
    """
    is_same = task.claimed_by not in (None, tx.by.name) and fence == task.fence
    is_same = is_same and _are_one_process(tx, task.claimed_by or "", tx.by.name)
    check_write(task, by=tx.by, now=tx.now, fence=fence, force=force or is_same)


def _are_one_process(tx: Reader, one: str, other: str) -> bool:
    """Whether two agents are connections of the same process, as when a client starts a server for every call."""
    found = AGENTS.select(tx, "where id in (?, ?) and process_started is not null", one, other)
    return len(found) == 2 and len({(agent.pid, agent.process_started) for agent in found}) == 1
