"""What a discipline may be denied: tools by any of their names, or patterns such as `debug_*`."""

from collections.abc import Callable, Iterable

from binnacle.errors import Hint, InvalidInput, nearest
from binnacle.work import steps

SHELL = ("binnacle-set_agent", "bn_run", "binnacle-orient", "binnacle-goodbye")
"""The tools of `tools.bn_tools`, which are declared only where they can run."""


def check_denied(entries: Iterable[str], work_tools: Callable[[], Iterable[str]]) -> None:
    """Refuses the name of a tool that does not exist: a misspelled denial would deny nothing.

    Patterns may match nothing, and upstream tools (`mcp_…`) come and go. `work_tools` returns the names of the work
    tools; it is called only if a name has to be looked up.
    """
    unknown = [entry for entry in entries if "*" not in entry and not entry.startswith("mcp_")]
    if not unknown:
        return
    from binnacle.tools.tool_search import FINDERS

    known = [*work_tools(), *SHELL, *FINDERS]
    for entry in unknown:
        if entry not in known:
            near = nearest(entry, known)
            hint: Hint = f"did you mean {near!r}?" if near else (steps.LIST_TOOLS, "a pattern has a '*'")
            raise InvalidInput(f"no tool {entry!r} to deny", hint=hint)
