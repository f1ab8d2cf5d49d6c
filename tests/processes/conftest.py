"""A ground for every kind of event loop, on which nobody may be left."""

import asyncio
import uuid
from collections.abc import Iterator

import pytest
import uvloop

from processes.ground import Ground


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def ground(request, tmp_path, monkeypatch) -> Iterator[Ground]:
    """Where a test starts programs. Afterwards no process is left there, and no descriptor."""
    mark = uuid.uuid4().hex
    monkeypatch.setenv("STAGE", mark)
    place = Ground(str(tmp_path), mark, request.param)
    # The first loop of uvloop opens a pipe that it keeps.
    request.param().close()
    before = place.stage.descriptors()
    yield place
    assert place.stage.processes() == []
    assert place.stage.zombies() == []
    assert place.stage.descriptors() == before
