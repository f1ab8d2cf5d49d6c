"""Clients, and a server on HTTP that they share."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import forked_bn
from cli.conftest import BN, Bn
from cli.conftest import bn as local_bn  # noqa: F401 - the fixture
from identity.clients import Client, Talk
from scenarios.conftest import planned, store  # noqa: F401 - the fixtures

BLIND = """
import sys
from binnacle.lifecycle import loopback_peer
from binnacle.cli.main import main
loopback_peer.find_peer = lambda *_, **__: None
sys.exit(main(sys.argv[1:]))
"""
"""A `bn` on a system that does not tell which process is at the other end of a connection."""


class HttpEnd(NamedTuple):
    """Where a server listens, and its token."""

    url: str
    token: str
    process: subprocess.Popen[bytes]


@pytest.fixture
def bn(local_bn: Bn) -> Bn:  # noqa: F811
    """A repository with its store in a file."""
    return local_bn


@pytest.fixture(params=["sqlite", "postgres"])
def on_each_engine(request, bn: Bn) -> None:
    """Makes a test run on both engines: its store is in a file, or in a schema of its own."""
    if request.param == "postgres":
        place = request.getfixturevalue("postgres_place")
        bn.env |= {"BN_STORE_URL": place.where, "BN_STORE_SCHEMA": place.schema}


@pytest.fixture
def client(bn: Bn) -> Iterator[Callable[..., Client]]:
    """Starts clients, and ends them with the test."""
    with ExitStack() as stack:
        yield lambda **env: stack.enter_context(Client(bn, **env))


@pytest.fixture
def serve(bn: Bn) -> Iterator[Callable[..., HttpEnd]]:
    """Starts servers on HTTP, and ends them with the test."""
    with ExitStack() as stack:

        def start(*options: str, cwd: Path | None = None, is_blind: bool = False) -> HttpEnd:
            command = [*([sys.executable, "-c", BLIND] if is_blind else [BN]), "mcp", "serve", "--http", "0", *options]
            process = forked_bn.start(command, cwd=cwd or bn.repo, env=bn.env, stdout=subprocess.PIPE)
            stack.enter_context(process)
            stack.callback(process.kill)
            said = json.loads(process.stdout.readline())
            return HttpEnd(said["url"], said.get("token", ""), process)

        yield start


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A second repository."""
    repo = tmp_path / "other"
    subprocess.run(["git", "init", "--quiet", str(repo)], check=True, timeout=60)
    return repo


@pytest.fixture(params=["pipe", "web"])
def connect(request, client: Callable[..., Client], serve: Callable[..., HttpEnd]) -> Callable[..., Talk]:
    """Makes a connection of a client of its own, on each transport."""

    def start(era: str = "old", **options: Any) -> Talk:
        if request.param == "pipe":
            return client().pipe(era=era, **options)
        end = serve(**options)
        return client().web("a", end.url, end.token, era=era)

    return start
