"""A project in which the examples of the documentation can be run by a shell, as a person would run them."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
from pathlib import Path

from cli.conftest import BN, Bn
from demo_commands import DEMO_AGENT

ROOT = Path(__file__).parents[2]

SPEC = """# A shop that says hello

## Tasks

1. Greet the customers

   ```text hello.txt
   Hello!
   ```
"""
"""Work that is done at once: what an agent does with a debugger and tests, `demo_agent` shows."""

FILES = {
    "src/api.py": "def login(): ...\n",
    "src/cart.py": "\n" * 10 + "def total(items):\n    return sum(items)\n",
    "plan.json": json.dumps([{"title": "Design it"}, {"title": "Build it", "depends_on": ["#1"]}]),
    "ideas.txt": "A shop that sells hats.\n",
    ".binnacle/hooks.yaml": "post_iteration: 'true'\n",
    ".binnacle/checks.yaml": "checks:\n  - name: tests\n    command: make test\n",
    "other.md": "Do the next task.\n",
    "spec.md": SPEC,
}
"""What the examples name, beside what is in the shop of the demo."""

TITLES = ("See that tests/test_cart.py::test_sum passes", "See that tests/test_cart.py::test_total passes")
AGENTS = ("goose", "opencode", "claude-agent-acp")
CLIENTS = ("claude", "codex")

MORE_TESTS = """

def test_total():
    from src.cart import total

    assert total([1, 2]) == 3
"""

LISTS = {"": "task list --all", "n": "note list", "l": "learning list", "s": "session list"}
"""Where the ids of each kind of thing are listed."""

WAIT_SECONDS = 100

UNPROVEN = 3
"""Exit code of a run in which nothing was checked: the shop has no checks."""


class ExampleProject:
    """A repository, and a home of its own for who works in it."""

    def __init__(self, place: Path) -> None:
        self.repo = place / "your-repository"
        self._programs = place / "bin"
        for folder in (self.repo, self._programs, place / "home"):
            folder.mkdir(parents=True)
        (self._programs / "bn").symlink_to(BN)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("BN_", "XDG_"))}
        self.env = kept | {
            "HOME": str(place / "home"),
            "PATH": f"{self._programs}:{kept['PATH']}",
            "BN_DATA_DIR": str(place / "data"),
            "BN_USER": "ann",
        }
        self.bn = Bn(self.repo, self.env)
        self._git("init", "--quiet")

    def _git(self, *words: str) -> None:
        git = ["git", "-c", "user.name=ann", "-c", "user.email=ann@example.com", *words]
        subprocess.run(git, cwd=self.repo, env=self.env, check=True, timeout=60)

    def fill(self) -> None:
        """Puts in a shop, programs called as agents are, and a feature with two tasks.

        The agents are the demo agent. A client does nothing: what it is started with is tested in `cli.test_launch`.
        """
        shutil.copytree(ROOT / "demo" / "shop", self.repo, dirs_exist_ok=True)
        for name, text in FILES.items():
            (self.repo / name).parent.mkdir(parents=True, exist_ok=True)
            (self.repo / name).write_text(text)
        with (self.repo / "tests" / "test_cart.py").open("a") as tests:
            tests.write(MORE_TESTS)
        self._git("add", "--all")
        self._git("commit", "--quiet", "-m", "Begin the shop")
        for name in AGENTS:
            self._write_program(name, f'[ "$1" = run ] || exec {shlex.join(DEMO_AGENT)}')
        for name in CLIENTS:
            self._write_program(name, "exit 0")
        self.bn("feature", "add", "auth")
        tasks = [{"title": title, "feature": "auth"} for title in TITLES]
        self.bn("task", "add", "--from", "-", stdin=json.dumps(tasks))

    def _write_program(self, name: str, line: str) -> None:
        path = self._programs / name
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)

    def run(self, line: str) -> str:
        """Runs a line of shell, which must succeed; what it says."""
        with self._started(line) as process:
            said, _ = process.communicate(timeout=WAIT_SECONDS)
        assert process.returncode in (0, UNPROVEN), f"{line}\n{said}"
        return said

    def run_and_stop(self, line: str) -> None:
        """Runs a line that goes on until it is stopped, and stops it once it has said something."""
        with self._started(line) as process:
            said = process.stdout.readline()
            assert said, f"{line}\nended without a word"
            assert process.poll() is None, f"{line}\n{said}"
            os.killpg(process.pid, signal.SIGINT)
            process.communicate(timeout=WAIT_SECONDS)

    def _started(self, line: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            ["bash", "-o", "pipefail", "-c", self.with_ids(line)],
            cwd=self.repo,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def with_ids(self, line: str) -> str:
        """An example whose ids are those of the first and the second thing of that kind."""

        def find_real(found: re.Match[str]) -> str:
            [things] = [one for one in self.bn(*LISTS[found[1] or ""].split()).values() if isinstance(one, list)]
            return str(things[0 if found[2].startswith("1f3") else 1]["id"])

        return re.sub(r"\b(?:bn(\w?)-)?(1f3a?|2a4)\b", find_real, line)
