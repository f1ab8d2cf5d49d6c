"""Whether a process that has not answered yet is working, as `npx` and `uvx` do on their first start.

Fetching packages before the server runs can take minutes without any output. It shows in the processes: they start and
end others, use the processor, read and write. A process that only waits does none of that. Where we cannot inspect
processes, only output on standard error counts.
"""

from typing import NamedTuple

from binnacle.processes.facts import find_process, group_by_parent, list_tree, read_table
from binnacle.processes.usage import ProcessUsage, usage_of

MIN_CPU_SECONDS = 0.25
"""Seconds of processor time that count as work; a waiting process uses some, too."""

MIN_BYTES = 64 << 10
"""Bytes read and written that count as work."""


class ActivitySample(NamedTuple):
    """What a process and everything below it have done so far."""

    processes: frozenset[tuple[int, int]]
    """Each by its id and start time."""

    usage: ProcessUsage
    output_bytes: int
    """Written to standard error."""


def take_sample(pid: int, output_bytes: int) -> ActivitySample:
    """A sample of a process. Looks at every process of the system."""
    root = find_process(pid)
    found = list_tree(root, group_by_parent(read_table())) if root is not None else []
    total = ProcessUsage(0.0, 0)
    for entry in found:
        used = usage_of(entry.pid)
        total = ProcessUsage(total.cpu_seconds + used.cpu_seconds, total.io_bytes + used.io_bytes)
    return ActivitySample(frozenset((entry.pid, entry.started) for entry in found), total, output_bytes)


def has_worked(before: ActivitySample, now: ActivitySample) -> bool:
    """Whether a process did something between two samples.

    An ended process takes its usage along, so less than before says nothing; but then the set of processes differs.
    """
    return (
        before.processes != now.processes
        or now.output_bytes > before.output_bytes
        or now.usage.cpu_seconds - before.usage.cpu_seconds >= MIN_CPU_SECONDS
        or now.usage.io_bytes - before.usage.io_bytes >= MIN_BYTES
    )
