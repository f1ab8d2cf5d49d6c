"""What a provider offers besides its own: resources and prompts of other servers."""

from collections.abc import Mapping
from typing import Protocol

from msgspec import Raw

from binnacle.server.provider import Result
from binnacle.tools.caller import Caller
from binnacle.wire.mcp import CompleteParams


class ForeignContent(Protocol):
    """Content of other servers. Entries and results are passed on as they came; None where it is nobody's."""

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
        """Makes the servers tell of changes to exactly these resources."""


class NoForeignContent:
    """No other servers."""

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
