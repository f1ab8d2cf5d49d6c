"""Runners of a toy command, in forks and cold, and a look at what they leave behind."""

import sys
import uuid
from collections.abc import Iterator

import pytest

from binnacle.passthrough.command import PassthroughCommand
from passthrough import toy
from passthrough.stage import Stage

WARM_TOY = PassthroughCommand(name="toy", function="passthrough.toy:main", argv=("/nowhere/toy",))
"""Runs in forks or not at all."""

COLD_TOY = WARM_TOY._replace(argv=(sys.executable, toy.__file__))
"""Runs either way."""


@pytest.fixture
def stage(tmp_path, monkeypatch) -> Iterator[Stage]:
    """Where a test plays. Afterwards nobody is left there, and no descriptor."""
    mark = uuid.uuid4().hex
    monkeypatch.setenv("STAGE", mark)
    place = Stage(WARM_TOY, str(tmp_path), mark)
    before = place.descriptors()
    yield place
    assert place.processes() == []
    assert place.zombies() == []
    assert place.descriptors() == before


@pytest.fixture(params=["warm", "cold"])
def either(request, stage) -> Stage:
    """The same test runs in forks and in cold processes."""
    if request.param == "cold":
        stage.command = COLD_TOY
        stage.options["fork"] = False
    return stage
