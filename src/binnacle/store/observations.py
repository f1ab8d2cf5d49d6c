"""What agents were seen to run while they worked on a task: events. The newest one about the last attempt counts."""

from collections.abc import Sequence

import msgspec

from binnacle.store.table import placeholders
from binnacle.store.transaction import Reader, Writer
from binnacle.work.observation import ObservedCommand, describe_observed
from binnacle.work.task import Task
from binnacle.work.text import strip_controls

OBSERVED = "observed"

_NEW_WORK = ("started", "lapsed", "reopened")
"""After these, what was seen before is about other work."""

_GIVEN_BACK = "released"
"""The same, unless the task was given back because it was done."""


def note(tx: Writer, task_id: str, found: Sequence[ObservedCommand]) -> None:
    """Notes what the agent of an attempt ran. It takes the place of what was noted before."""
    kept = [ObservedCommand(" ".join(strip_controls(one.command).split()), one.exit_code) for one in found]
    commands = [[one.command, one.exit_code] for one in kept]
    tx.record("task", task_id, OBSERVED, {"commands": commands, "text": describe_observed(kept)})


def find(tx: Reader, task: Task) -> tuple[ObservedCommand, ...]:
    """What the agent of the last attempt at a task ran."""
    among = (OBSERVED, *_NEW_WORK, *(() if task.status == "done" else (_GIVEN_BACK,)))
    row = tx.row(
        "select changes, action from event where entity = 'task' and entity_id = ? "
        f"and action in {placeholders(among)} order by seq desc limit 1",
        task.id,
        *among,
    )
    if row is None or row[1] != OBSERVED:
        return ()
    changes = msgspec.json.decode(row[0])
    return tuple(ObservedCommand(str(command), int(code)) for command, code in changes.get("commands", ()))
