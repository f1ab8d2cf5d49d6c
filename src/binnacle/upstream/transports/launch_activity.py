"""Whether a process that has not answered yet is still at work, as `npx` and `uvx` are on their first start.

What they do before the server runs, as fetching packages, can take minutes and says nothing. It shows in their
processes: new ones come and others end, they use the processor, they read and write. One that only waits does none of
that. Where processes cannot be looked into, only what it writes to standard error counts.
"""

from typing import NamedTuple

from binnacle.processes.facts import find_process, group_by_parent, list_tree, read_table
from binnacle.processes.usage import ProcessUsage, usage_of

MIN_CPU_SECONDS = 0.25
"""Of processor time that count as work; a process that waits uses some, too."""

MIN_BYTES = 64 << 10
"""Read and written that count as work."""


class ActivitySample(NamedTuple):
    """What a process and everything below it have done so far."""

    processes: frozenset[tuple[int, int]]
    """Each by its id and when it was started."""

    usage: ProcessUsage
    output_bytes: int
    """Written to standard error."""


def take_sample(pid: int, output_bytes: int) -> ActivitySample:
    """How far a process is. Costs a look at every process there is."""
    root = find_process(pid)
    found = list_tree(root, group_by_parent(read_table())) if root is not None else []
    total = ProcessUsage(0.0, 0)
    for entry in found:
        used = usage_of(entry.pid)
        total = ProcessUsage(total.cpu_seconds + used.cpu_seconds, total.io_bytes + used.io_bytes)
    return ActivitySample(frozenset((entry.pid, entry.started) for entry in found), total, output_bytes)


def has_worked(before: ActivitySample, now: ActivitySample) -> bool:
    """Whether a process did something between two samples.

    What ended took its usage along, so that less than before says nothing; but then the processes are others.
    """
    return (
        before.processes != now.processes
        or now.output_bytes > before.output_bytes
        or now.usage.cpu_seconds - before.usage.cpu_seconds >= MIN_CPU_SECONDS
        or now.usage.io_bytes - before.usage.io_bytes >= MIN_BYTES
    )
