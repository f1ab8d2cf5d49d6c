"""The upstream servers of a project, shared by all sessions of a process. Light: it loads no code to connect."""

import logging
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from binnacle.config.directories import trust_file
from binnacle.project.project import Project
from binnacle.upstream.configuration.config_paths import config_files, logins_folder, pins_file
from binnacle.upstream.configuration.server_config import ConfigProblem, describe_problem

if TYPE_CHECKING:
    from binnacle.serving.upstream_connections import UpstreamConnections
    from binnacle.upstream.supervisor import SupervisedServer

_log = logging.getLogger(__name__)


class SharedUpstreams:
    """The upstream servers of all sessions of a process. They are connected when the first session needs them."""

    def __init__(self, project: Project, flags: Sequence[str]) -> None:
        """`flags` are the servers named on the command line."""
        self._project = project
        self.flags = flags
        self._files = [one.path for one in config_files(project.repo)]
        self._decisions = (trust_file(), pins_file(project.data_dir), logins_folder())
        """Files with people's decisions about servers."""

        self._made: UpstreamConnections | None = None
        self._problems: tuple[tuple[int, ...], tuple[ConfigProblem, ...]] | None = None
        self._warned: set[ConfigProblem] = set()
        """Problems that were logged and still exist."""

    def state(self) -> tuple[int, ...]:
        """A value that changes when servers are configured, trusted, signed in to, or their tools accepted."""
        return tuple(map(_modified, (*self._files, *self._decisions)))

    def key(self) -> str:
        """A key for the configured servers; empty if there are none."""
        if not self.are_configured():
            return ""
        return repr((self._project.repo, self.flags, [_modified(path) for path in self._files]))

    def are_configured(self) -> bool:
        return bool(self.flags) or any(map(_modified, self._files))

    def get(self, is_needed: bool = False) -> "UpstreamConnections | None":
        """The connections to the servers; None if no server is configured and no discipline needs them."""
        if self._made is None and (is_needed or self.are_configured()):
            from binnacle.serving.upstream_connections import UpstreamConnections

            self._made = UpstreamConnections(self._project, flags=self.flags)
        return self._made

    def find_live(self, name: str) -> "SupervisedServer | None":
        """The server of that name, if a session uses it now."""
        servers = self._made.servers if self._made is not None else ()
        return next((one for one in servers if one.config.name == name), None)

    def problems(self) -> tuple[ConfigProblem, ...]:
        """Problems in the configuration of the servers."""
        if not self.are_configured():
            return ()
        state = self.state()
        if self._problems is None or self._problems[0] != state:
            from binnacle.upstream.configuration.server_loader import load_servers

            found = load_servers(self._project.repo, flags=self.flags).problems
            self._problems = (state, found)
        return self._problems[1]

    def warn(self, problems: Sequence[ConfigProblem]) -> None:
        """Logs problems to stderr, each once as long as it exists."""
        from binnacle.wire.hidden_text import make_visible

        for one in problems:
            if one not in self._warned:
                hint = f"; {one.hint}" if one.hint else ""
                _log.warning("bn mcp serve: %s", make_visible(f"{describe_problem(one)}{hint}").replace("\n", " "))
        self._warned = set(problems)

    async def aclose(self) -> None:
        if self._made is not None:
            await self._made.aclose()


def _modified(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
