"""What every test with a peer needs: the peers themselves, and servers for them to speak to."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from server.clients import FIXTURE, WAIT, Http, Server
from server.peers import installed

BN = str(Path(sys.executable).with_name("bn"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Any test here may be the first to ask for a peer, and then waits for its installation."""
    for item in items:
        if item.get_closest_marker("peers"):
            item.add_marker(pytest.mark.timeout(1200))


class Target(NamedTuple):
    """A server as a client is told of it."""

    url: str
    """Empty for one that the client starts itself."""

    command: list[str]
    cwd: str
    env: dict[str, str]


@pytest.fixture(scope="session")
def sdk() -> Any:
    """The official Python SDK."""
    sys.path.append(str(installed.python_packages()))
    import mcp

    return mcp


@pytest.fixture(scope="session")
def peers_http() -> Iterator[Http]:
    with Http() as server:
        yield server


@pytest.fixture(params=["stdio", "http"])
def fixture(request, peers_http: Http, tmp_path: Path) -> Target:
    """The fixture over each transport."""
    command = [sys.executable, FIXTURE, "stdio"]
    url = peers_http.url if request.param == "http" else ""
    return Target(url, command, str(tmp_path), dict(os.environ))


@pytest.fixture(params=["stdio", "http"])
def product(request, tmp_path: Path) -> Iterator[Target]:
    """`bn mcp serve` in a new repository, over each transport."""
    repo = tmp_path / "repo"
    subprocess.run(["git", "init", "--quiet", str(repo)], check=True, timeout=60)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("BN_", "XDG_"))}
    env |= {"BN_DATA_DIR": str(tmp_path / "data"), "XDG_CONFIG_HOME": str(tmp_path / "config"), "BN_USER": "ann"}
    command = [BN, "mcp", "serve"]
    if request.param == "stdio":
        yield Target("", command, str(repo), env)
        return
    with Server(command=[*command, "--http", "0", "--no-auth"], cwd=repo, env=env) as server:
        assert server.process.stdout is not None
        yield Target(json.loads(server.process.stdout.readline())["url"], command, str(repo), env)
        server.terminate()
        assert server.process.wait(timeout=WAIT) == 0
