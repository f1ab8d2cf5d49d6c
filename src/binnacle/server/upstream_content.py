"""Resources and prompts of upstream servers, which a provider offers in addition to its own."""

from collections.abc import Mapping
from typing import Protocol

from msgspec import Raw

from binnacle.server.provider import Result
from binnacle.tools.caller import Caller
from binnacle.wire.mcp import CompleteParams


class ForeignContent(Protocol):
    """Content of upstream servers. Entries and results are forwarded unchanged; None if no server has the content."""

    def resources(self) -> Mapping[str, Raw]:
        """Entries by URI."""

    def templates(self) -> Mapping[str, Raw]:
        """Entries by template."""

    def prompts(self) -> Mapping[str, Raw]:
        """Entries by name."""

    async def read(self, uri: str, caller: Caller) -> Result | None: ...
    async def prompt(self, name: str, arguments: Mapping[str, str], caller: Caller) -> Result | None: ...
    async def complete(self, params: CompleteParams, caller: Caller) -> Result | None: ...

    async def follow(self, uris: frozenset[str]) -> None:
        """Subscribes at the servers to exactly these resources."""


class NoForeignContent:
    """The content of no upstream servers."""

    def resources(self) -> Mapping[str, Raw]:
        return {}

    def templates(self) -> Mapping[str, Raw]:
        return {}

    def prompts(self) -> Mapping[str, Raw]:
        return {}

    async def read(self, uri: str, caller: Caller) -> Result | None:  # noqa: ARG002
        return None

    async def prompt(self, name: str, arguments: Mapping[str, str], caller: Caller) -> Result | None:  # noqa: ARG002
        return None

    async def complete(self, params: CompleteParams, caller: Caller) -> Result | None:  # noqa: ARG002
        return None

    async def follow(self, uris: frozenset[str]) -> None:
        pass
