"""The store, as provers see it: short transactions, while checks run for minutes."""

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeVar

from binnacle.store.store import Store
from binnacle.store.transaction import Reader, Writer
from binnacle.tools.work.access import StoreAccess
from binnacle.work.actor import SYSTEM

Result = TypeVar("Result")


class ProofStore(Protocol):
    """Reads the store, and changes it as Binnacle itself."""

    async def read(self, look: Callable[[Reader], Result]) -> Result:
        """The result of `look` in a transaction of its own."""

    async def write(self, change: Callable[[Writer], Result]) -> Result:
        """The result of `change` in a transaction of its own."""


class ServedStore:
    """The store of a server."""

    def __init__(self, access: StoreAccess) -> None:
        self._access = access

    async def read(self, look: Callable[[Reader], Result]) -> Result:
        return await self._access.look(look)

    async def write(self, change: Callable[[Writer], Result]) -> Result:
        return await self._access.change(change)


class OpenedStore:
    """The store of a command: opened for each transaction, in a thread."""

    def __init__(self, open_store: Callable[[], Store]) -> None:
        self._open = open_store

    async def read(self, look: Callable[[Reader], Result]) -> Result:
        def work() -> Result:
            with self._open() as store, store.read() as tx:
                return look(tx)

        return await asyncio.to_thread(work)

    async def write(self, change: Callable[[Writer], Result]) -> Result:
        def work() -> Result:
            with self._open() as store, store.write(by=SYSTEM) as tx:
                return change(tx)

        return await asyncio.to_thread(work)
