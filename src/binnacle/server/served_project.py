"""What the server needs of a project: its tools, its resources, and the agents that work in it."""

from collections.abc import Awaitable, Collection
from typing import Protocol

from binnacle.server.upstream_content import ForeignContent
from binnacle.tools.caller import Caller
from binnacle.tools.client_facts import ClientFacts
from binnacle.tools.outcome import Outcome
from binnacle.work.session import Agent


class ServedProject(Protocol):
    """A project under a plan, as this server serves it."""

    repo: str
    is_known: bool
    """Whether it is a project at all. A server may be started in a folder that is not one."""

    def instructions(self) -> str:
        """Instructions about the tools for a client that connects."""

    def listing(self) -> bytes:
        """The tools of `tools/list`, a JSON array."""

    def listing_with_session(self) -> bytes:
        """The same with a `session` parameter for every tool."""

    def call(self, name: str, raw: bytes, caller: Caller) -> Awaitable[Outcome]:
        """Calls a tool."""

    def foreign_content(self) -> ForeignContent:
        """What upstream servers have besides tools."""

    async def status(self, caller: Caller) -> str:
        """The state of the project, as JSON."""

    async def guide(self) -> str | None:
        """AGENTS.md of the repository, if there is one."""

    async def find_agent(
        self, facts: ClientFacts, *, name: str | None, open_here: Collection[str], is_new: bool
    ) -> Agent:
        """The agent of a connection, found by its process or registered; always registered if `is_new`."""

    async def resume_agent(self, facts: ClientFacts, *, open_here: Collection[str]) -> Agent | None:
        """The agent that the same process was before, or None. Changes nothing."""

    async def link_agent(self, agent_id: str, facts: ClientFacts) -> Agent:
        """Makes a registered agent use a connection. Raises `NotFound` if it is unknown or has ended."""

    async def is_active(self, agent_id: str) -> bool:
        """Whether an agent has not ended."""

    async def end_agent(self, agent_id: str, *, reason: str) -> None:
        """Ends an agent, if it has not ended already, and gives back its tasks."""
