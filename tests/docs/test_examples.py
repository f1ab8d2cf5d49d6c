"""Every example that the documentation shows does what it says: each is run by a shell, in a project made for it.

The examples that a new user types first run in an empty project, all others in one that has what they speak of. What
cannot be run here names the test that shows it.
"""

import re
import shlex
import sys
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from binnacle.cli.command_index import GROUPS
from binnacle.cli.parser import load_group
from docs.example_project import ROOT, ExampleProject

FIRST = ("README.md#1", "docs/guide.md#0")
"""The blocks that a new user types first, in an empty project."""

ELSEWHERE = {
    r"(make |cd your-repository)": ".ci/run",
    r"pip install": "tests/docs/test_installed.py",
    r"bn upstream (login|logout)": "tests/upstream/auth",
    r"bn bridge (install-vscode|host)": "tests/cli/test_bridge.py",
    r"bn (orient|goodbye|agent (show|kill))": "tests/cli/test_lifecycle.py",
    r"bn ask (show|answer)": "tests/cli/test_ask.py",
    r"bn plan renew": "tests/cli/test_plan.py",
    r"bn (trust( +#.*)?$|trust (hook|check)|hook run)": "tests/trust/test_trust.py",
    r"bn check approve": "tests/cli/test_check.py",
    r"bn store adopt": "tests/cli/test_stores.py",
    r"bn store export - \| BN_STORE_URL": "tests/cli/test_shared_database.py",
    r"bn upstream accept": "tests/upstream/test_pins.py",
    r"bn run --resume": "tests/runner/test_kill_and_resume.py",
    r"bn session (pause|resume|message|stop|answer)": "tests/runner/test_steering.py",
}
"""What cannot be run here, and what shows it. It builds the product, asks a person at a terminal, is for an agent, or
needs an editor, a browser, a database or something that was broken off."""

RUNNING = r"bn (log .*--follow|mcp serve --http|gui)"
"""What goes on until it is stopped."""

DATABASE = shlex.join([sys.executable, str(ROOT / "tests" / "upstream" / "rogue.py"), "more=query"])
PUT_UP = (
    "printf 'review:\\n  default: person\\n' > .binnacle/checks.yaml && bn trust check --yes && bn task start 1f3 && "
    "echo '# more' >> src/cart.py && git -c user.name=ann -c user.email=ann@example.com commit --quiet -am more && "
    "{ bn task done 1f3 || true; }"
)
"""A change that waits for a review."""

BEFORE = {
    r"bn task update": "bn task update 1f3 2a4 +someday",
    r"bn task release": "bn task start 1f3",
    r"bn task dep rm": "bn task dep add 1f3 2a4",
    r"bn task reopen": "bn task done 1f3",
    r"bn (task move|feature delete)": "bn feature add billing",
    r"bn feature merge": "bn feature add authentication --force",
    r"bn (discipline (show|update|delete)|plan explain .*testing)": "bn discipline add testing",
    r"bn mcp token revoke": "bn mcp token add laptop-claude",
    r"bn upstream (remove|enable|disable|test|tools|call|logs)": f"bn upstream add database -- {DATABASE}",
    r"bn check run": "bn check add quick true",
    r"git commit -am": (
        "git config user.name ann; git config user.email ann@example.com; git add --all; git commit --quiet -m all; "
        "echo '# more' >> src/cart.py"
    ),
    r"bn check quarantine end": "bn check quarantine add tests tests.test_cart::test_total --days 14",
    r"bn script build": "bn script new deploy.check --python",
    r"bn note delete": "bn note add 'Tokens live in Redis'",
    r"bn learning (review|delete)": "bn learning add 'The test database needs a reset'",
    r"bn run spec.md( +#| --template| --workers)": "bn config set run.agent goose; bn config set run.approve all",
    r"bn (session (show|tran)|plan coverage|cost|report)": "bn run spec.md --agent goose --approve all --name auth",
    r"bn review (show|accept|reject|comment)": PUT_UP,
    r"bn verify": "bn run spec.md --agent goose --approve all --name auth",
    r"bn store import": "git init -q old && bn -C old task add 'An old task' && bn -C old store export backup.jsonl",
}
"""What an example takes for granted, and how it comes about."""


class Block(NamedTuple):
    """Lines of shell that stand together on a page. Each run of agents stands alone: it is one of several ways."""

    name: str
    lines: tuple[str, ...]


def blocks_of_pages() -> Iterator[Block]:
    for page in [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]:
        name = str(page.relative_to(ROOT))
        blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
        for number, block in enumerate(blocks if name != "docs/commands.md" else ()):  # it is made from the commands
            lines = [line for line in block.splitlines() if line.strip()]
            runs = [line for line in lines if line.startswith("bn run")]
            yield Block(f"{name}#{number}", tuple(line for line in lines if line not in runs))
            yield from (Block(f"{name}#{number} {line.partition('#')[0].strip()}", (line,)) for line in runs)


def examples_of_commands() -> Iterator[Block]:
    for name in GROUPS:
        for words, command in load_group(name).commands.items():
            yield Block(f"bn {name} {words}".strip(), (command.example,))


BLOCKS = [*blocks_of_pages(), *examples_of_commands()]


@pytest.mark.parametrize("block", BLOCKS, ids=[block.name for block in BLOCKS])
def test_examples_do_what_they_say(block, tmp_path):
    project = ExampleProject(tmp_path / "place")
    if block.name not in FIRST:
        project.fill()
    lines = [line for line in block.lines if not any(re.match(pattern, line) for pattern in ELSEWHERE)]
    for pattern, setup in BEFORE.items():
        if any(re.match(pattern, line) for line in lines):
            project.run(setup)
    for line in lines:
        (project.run_and_stop if re.match(RUNNING, line) else project.run)(line)
    if (project.repo / ".vsc-bridge").exists():
        project.run("bn bridge stop")


@pytest.mark.parametrize("place", ELSEWHERE.values())
def test_what_is_not_run_here_is_shown_elsewhere(place):
    assert (ROOT / place).exists()
