"""A desk at which nobody is left in the end."""

import asyncio
import os
import shutil
import sys
import uuid
from collections.abc import Iterator

import pytest
import uvloop

from bridge.debug.desk import Desk
from passthrough.conftest import COLD_TOY
from passthrough.stage import Stage

PROGRAMS = os.path.join(os.path.dirname(__file__), "programs")


@pytest.fixture
def desk(tmp_path, monkeypatch) -> Iterator[Desk]:
    """A workspace with programs in it. Afterwards no process of theirs is left, and no descriptor."""
    mark = uuid.uuid4().hex
    workspace = str(tmp_path / "shop")
    shutil.copytree(PROGRAMS, workspace, ignore=shutil.ignore_patterns("__pycache__"))
    # Under this name it would be taken for tests of ours.
    os.rename(os.path.join(workspace, "checks.py"), os.path.join(workspace, "test_shop.py"))
    monkeypatch.setenv("STAGE", mark)
    monkeypatch.setenv("BN_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    kept = "PYTEST_DEBUG_TEMPROOT"  # where a pytest that is debugged has its folders
    for name in [name for name in os.environ if name.startswith(("PYTEST_", "COV_")) and name != kept]:
        monkeypatch.delenv(name)
    stage = Stage(COLD_TOY, workspace, mark)
    uvloop.new_event_loop().close()
    before, zombies = stage.descriptors(), stage.zombies()  # of other tests in this process
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        opened = Desk(workspace, runner, stage)
        try:
            yield opened
        finally:
            opened.close()
    assert stage.processes() == []
    assert stage.zombies() == zombies
    assert stage.descriptors() == before
