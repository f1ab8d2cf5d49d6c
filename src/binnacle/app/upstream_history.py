"""What is kept of a project's upstream servers: what they wrote, and what their tools were when they were accepted."""

from collections.abc import Sequence
from typing import NamedTuple

from binnacle.config.rolling_file import last_lines
from binnacle.errors import InvalidInput, NotFound, did_you_mean
from binnacle.project.project import Project
from binnacle.upstream.configuration.config_paths import log_file, upstream_folder
from binnacle.upstream.configuration.server_overview import ConfiguredServer
from binnacle.upstream.listing.pins import PinChange, Pins


class ServerLog(NamedTuple):
    """The last lines that a server wrote. Secrets were removed when they were kept."""

    file: str
    lines: list[str]


def read_log(project: Project, server: ConfiguredServer, *, lines: int) -> ServerLog:
    """The last lines that a server wrote to its standard error.

    Raises:
        InvalidInput: it is no local command, so nothing of it is kept.
    """
    name = server.entry.name
    if server.config is not None and server.config.transport != "stdio":
        raise InvalidInput(
            f"{name} is no local command: what it writes is kept where it runs",
            hint=f"bn upstream doctor {name} shows its state",
        )
    path = log_file(project.data_dir, name)
    return ServerLog(path, last_lines(path, lines))


def find_changed_tools(project: Project, server: str, tool: str | None = None) -> list[PinChange]:
    """The tools of a server that changed since they were accepted, or the one that is named.

    Raises:
        NotFound: a tool is named that has not changed.
    """
    pending = _open_pins(project).pending(server)
    shown = [change for change in pending if tool in (None, change.tool)]
    if tool is not None and not shown:
        hint = did_you_mean(tool, [change.tool for change in pending]) or "nothing of it waits to be accepted"
        raise NotFound(f"{server} has no changed tool {tool!r}", hint=hint)
    return shown


def accept_tools(project: Project, server: str, tool: str | None, *, shown: Sequence[PinChange]) -> list[str]:
    """Accepts exactly what a person has seen, of one tool or of all. Returns the names of the changed tools.

    Raises:
        Refused: a tool has changed again since it was shown.
    """
    return _open_pins(project).accept(server, tool, shown=shown)


def _open_pins(project: Project) -> Pins:
    return Pins(upstream_folder(project.data_dir))
