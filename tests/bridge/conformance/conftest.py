"""Hosts for the suite: each is started once in a test process, and every test finds it as new."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bridge.conformance import editor
from bridge.conformance.desk import Desk, environment, headless, lay_out
from server.peers import installed

HERE = Path(__file__).parent
JS_DEBUG = HERE.parent / "debug" / "peers" / "package.json"
HOSTS = ["headless", pytest.param("vscode", marks=pytest.mark.peers)]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The first test with a window waits until everything for it is installed."""
    for item in items:
        if HERE in item.path.parents and item.get_closest_marker("peers"):
            item.add_marker(pytest.mark.timeout(1500))


@pytest.fixture(scope="package")
def headless_host(tmp_path_factory) -> Iterator[Desk]:
    folder = tmp_path_factory.mktemp("headless")
    lay_out(folder / "shop")
    with headless(folder / "shop", environment()):
        desk = Desk(folder / "shop", "headless")
        yield desk
        desk.close()


@pytest.fixture(scope="package")
def opened_window(tmp_path_factory) -> Iterator[tuple[editor.Editor, Desk]]:
    folder = tmp_path_factory.mktemp("vscode")
    lay_out(folder / "shop")
    subprocess.run(["git", "init", "--quiet", str(folder / "shop")], check=True, timeout=60)
    with editor.window(folder / "shop", **environment()) as window:
        desk = Desk(folder / "shop", "vscode")
        yield window, desk
        desk.close()


@pytest.fixture(scope="package")
def vscode_host(opened_window) -> Desk:
    return opened_window[1]


@pytest.fixture(params=HOSTS)
def desk(request) -> Iterator[Desk]:
    """Each host in turn; the same test runs on both."""
    found: Desk = request.getfixturevalue(f"{request.param}_host")
    found.reset()
    yield found
    assert found.jobs() == []


@pytest.fixture
def js_debug() -> Callable[[Desk], None]:
    """Lets a host debug Node. An editor brings what it needs for that."""

    def bring(desk: Desk) -> None:
        place = desk.workspace / "node_modules"
        if desk.kind == "headless" and not place.exists():
            place.symlink_to(installed.node_modules(JS_DEBUG))

    return bring
