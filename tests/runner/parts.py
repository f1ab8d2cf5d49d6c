"""A product of many parts: its specification, the plan in it, what each part changes, and its own test.

A part needs others, and three at a time change the same file. Agents that play a script import this module too.
"""

import re
from pathlib import Path
from typing import Any

_PART = re.compile(r"\bPart (\d+)(?: \(depends on ([\d, ]+)\))?")
_MARKERS = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")


def specification(number: int) -> str:
    items = "".join(f"- Part {part}{_words(needs_of(part))}\n" for part in range(1, number + 1))
    return f"# Parts\n\n## Tasks\n\n{items}"


def _words(needs: list[int]) -> str:
    return f" (depends on {', '.join(map(str, needs))})" if needs else ""


def needs_of(part: int) -> list[int]:
    return [before for before in (part - 4, part - 3) if before > 0]


def plan_in(prompt: str) -> list[dict[str, Any]]:
    """The tasks that a prompt with the specification asks for."""
    found: dict[int, list[str]] = {}
    for part, needs in _PART.findall(prompt):
        found[int(part)] = re.findall(r"\d+", needs) or found.get(int(part), [])
    return [
        {"content": f"Part {part}", "depends_on": [f"#{need}" for need in needs], "covers": [f"R{part}"]}
        for part, needs in sorted(found.items())
    ]


def changes_of(part: int, folder: Path) -> dict[str, str]:
    """The files that a part writes in a tree: its own, and one that has a line of every part, sorted."""
    imports = "".join(f"import part{need}\n" for need in needs_of(part))
    count = " + ".join(["1", *(f"part{need}.COUNT" for need in needs_of(part))])
    shared = folder / shared_file(part)
    lines = shared.read_text().splitlines() if shared.exists() else []
    kept = {line for line in lines if not line.startswith(_MARKERS)}
    return {
        f"part{part}.py": f"{imports}COUNT = {count}\n",
        shared.name: "".join(f"{line}\n" for line in sorted({*kept, f"part {part:02}"})),
    }


def shared_file(part: int) -> str:
    return f"shared{(part - 1) // 3}.txt"


def files(number: int) -> dict[str, str]:
    """The files of the repository in which nothing is done yet."""
    needs = {part: needs_of(part) for part in range(1, number + 1)}
    test = f"""import unittest
from importlib import import_module
from pathlib import Path

NEEDS = {needs}


class TestParts(unittest.TestCase):
    def test_every_part_counts_what_it_needs(self):
        counts = {{part: import_module(f"part{{part}}").COUNT for part in NEEDS}}
        for part, needs in NEEDS.items():
            self.assertEqual(counts[part], 1 + sum(counts[need] for need in needs))

    def test_every_part_has_its_line(self):
        texts = [path.read_text() for path in sorted(Path(__file__).parent.glob("shared*.txt"))]
        self.assertEqual("".join(texts), "".join(f"part {{part:02}}\\n" for part in NEEDS))
"""
    return {"spec.md": specification(number), "test_parts.py": test, ".gitignore": "__pycache__/\n"}


TEST_WORDS = ("-m", "unittest", "--quiet", "test_parts")
"""Words for Python, in the tree."""

SCRIPT = """
import signal
import time
from parts import changes_of, plan_in

if not agent.task:
    agent.call("task-add", tasks=plan_in(agent.prompt))
    agent.call("iteration-summary", summary="planned")
else:
    turn = agent.times("turn")
    until = time.monotonic() + 60
    while turn <= 3 and not (agent.folder / "turn-3").exists() and time.monotonic() < until:
        time.sleep(0.02)
    if turn == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    if agent.times("answer") == 5:
        agent.fail("API Error: 503 Service Unavailable, retry after 1 s")
    for name, text in changes_of(int(agent.title.removeprefix("Part ")), agent.cwd).items():
        agent.write(name, text)
    agent.done()
"""
"""What `player` plays: plans all parts or does one. The first three begin together, so two of them conflict; the third
is killed, and a later one meets an outage."""
