"""A catalog over a real store, and a caller of it."""

import asyncio

import msgspec
import pytest

from binnacle.tools.caller import Caller
from binnacle.tools.catalog import Catalog
from binnacle.tools.dispatch import Dispatcher
from binnacle.tools.outcome import Outcome
from binnacle.tools.work.access import StoreAccess
from binnacle.tools.work.all_work_tools import work_tools
from binnacle.work.actor import Actor
from binnacle.work.session import Session
from places import access_to


class Tools:
    """Calls tools as an agent does."""

    def __init__(self, access: StoreAccess) -> None:
        self.access = access
        self.catalog = Catalog(work_tools(access))
        self.dispatcher = Dispatcher(self.catalog)
        self.caller = Caller(session=Session(actor=Actor("bna-1", "agent")))

    def outcome(self, name: str, /, by: Caller | None = None, **arguments) -> Outcome:
        raw = msgspec.json.encode(arguments)
        return asyncio.run(self.dispatcher.call(name, raw, by or self.caller))

    def __call__(self, name: str, /, **arguments):
        """The data of a call that must succeed, as a client reads it."""
        outcome = self.outcome(name, **arguments)
        assert not outcome.is_error, outcome.text
        return msgspec.json.decode(msgspec.json.encode(outcome.envelope))["data"]

    def fails(self, name: str, /, **arguments) -> dict:
        """The error of a call that must fail."""
        outcome = self.outcome(name, **arguments)
        assert outcome.is_error
        assert outcome.text.startswith("error: ")
        return outcome.envelope["error"]


@pytest.fixture
def tools(place) -> Tools:
    access = access_to(place)
    yield Tools(access)
    access.close()
