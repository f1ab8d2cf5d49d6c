"""A repository and the real `bn` run in it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import forked_bn
from forked_bn import BN

AS_PERSON = (sys.executable, str(Path(__file__).parents[1] / "as_person.py"))
"""Runs a command outside of the processes of a test that is a client itself, as a person beside one does."""


TIMEOUT_SECONDS = 60


class Result(NamedTuple):
    """What one run of `bn` came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, Any]:
        return json.loads(self.err)["error"]


class Bn:
    """Runs `bn` in one repository, with an environment of its own."""

    def __init__(self, repo: Path, env: dict[str, str]) -> None:
        self.repo = repo
        self.env = env
        self._agents: dict[str, str] = {}

    def run(
        self,
        *words: str,
        stdin: str = "",
        env: dict[str, str] | None = None,
        cwd: Path | None = None,
        through: tuple[str, ...] = (),
    ) -> Result:
        """Runs a command to its end, in a fork where that makes no difference (`forked_bn`)."""
        variables, typed = self.env | (env or {}), stdin.encode("utf-8", "surrogateescape")
        where = cwd or self.repo
        done = forked_bn.run([*through, BN, *words], stdin=typed, timeout=TIMEOUT_SECONDS, cwd=where, env=variables)
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    def __call__(self, *words: str, **options: Any) -> Any:
        """The JSON answer of a run that must succeed."""
        done = self.run(*words, **options)
        assert done.code == 0, done.err
        return done.json

    def by_person(self, *words: str, **options: Any) -> Any:
        """The same for what only a person may do, while the test itself has a server open on its pipes."""
        return self(*words, through=AS_PERSON, **options)

    def human(self, *words: str, **options: Any) -> str:
        """What a person sees of a run that must succeed."""
        done = self.run(*words, "-H", **options)
        assert done.code == 0, done.err
        return done.out

    def fails(self, *words: str, code: int = 1, **options: Any) -> dict[str, Any]:
        """The error of a run that must fail."""
        done = self.run(*words, **options)
        assert done.code == code, (done.code, done.out, done.err)
        assert done.out == ""
        return done.error

    def agent(self, name: str) -> dict[str, str]:
        """The environment of a registered agent without a process of its own, as one on another machine has none."""
        if name not in self._agents:
            env = {"BN_MCP_SESSION": f"mcp-{name}"}
            self._agents[name] = self("orient", "--name", name, env=env)["agent_id"]
        return {"BN_AGENT_ID": self._agents[name]}

    def add(self, title: str, *options: str) -> str:
        """Adds a task and returns its id."""
        return self("task", "add", title, *options)["tasks"][0]["id"]


@pytest.fixture
def bn(tmp_path: Path) -> Bn:
    repo = tmp_path / "repo"
    subprocess.run(["git", "init", "--quiet", str(repo)], check=True, timeout=60)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("BN_", "XDG_"))}
    env |= {name: value for name, value in os.environ.items() if name == "BN_PORTABLE"}  # one mode for all processes
    env |= {
        "BN_DATA_DIR": str(tmp_path / "data"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "HOME": str(tmp_path),
        "BN_USER": "ann",
    }
    return Bn(repo, env)
