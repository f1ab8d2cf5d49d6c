"""The product in half a minute: a temporary repository, and an agent that works in it until a specification is done.

python demo/tour.py                     show it
python demo/tour.py --svg docs/tour.svg write it as a picture, for the README

The agent is the demo agent, which has no model; everything else is as with any other.
"""

import argparse
import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

SHOP = Path(__file__).with_name("shop")
AGENT = Path(__file__).with_name("agent.py")

STEPS = [
    ("A small shop, with a specification and a test that fails.", "cat spec.md"),
    ("", "pytest -q --tb=no"),
    (
        "What decides whether work is done is in a file of the project, and holds once you approve it.",
        "cat .binnacle/checks.yaml",
    ),
    ("", "bn check approve --yes -H"),
    (
        "Run an agent on it. It plans the tasks, then does one in each iteration, with a debugger at hand. Its second "
        "change breaks what the first one repaired: the check fails, the agent is told why, and repairs it.",
        "bn run spec.md --agent demo-agent --recipe loop_debug --approve all --headless --workers 2 -H",
    ),
    ("What it changed, a commit for each task.", "git log --stat --format=%s --first-parent HEAD~2.."),
    ("What is known of it, and how.", "bn report -H"),
    ("Does it still hold?", "bn verify -H"),
    ("What it found out is kept for the next agent, and for you.", "bn note list -H"),
    ("Whatever was changed, it is known by whom and when.", "bn log --limit 5 -H"),
]
"""What is said, and the command that shows it."""

CALL = re.compile(r"((?:\x1b\[[\d;]*m)*(?:\d\d:\d\d:\d\d )?)((?:\x1b\[[\d;]*m)*· .*)")
"""A line about a tool call: when it was made, if that is said, and the call."""

MAX_PICTURE_LINES = 75
"""Lines of one command in the picture."""

AFTERWARDS = """\
With an agent of yours, in a repository of yours:

    pip install '.[debug]'                       # once, from here
    bn check suggest --write; bn check approve   # what decides whether work is done
    bn run spec.md --agent goose                 # or opencode, claude, codex, gemini, copilot,
                                                 # or any command that speaks ACP
    bn run spec.md --agent claude --workers 2    # two at once, each in its own working tree

`bn run --help` shows all there is; docs/running.md explains it."""


def main() -> int:
    """Shows the tour, or writes it as a picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--svg", metavar="FILE", help="write a picture instead")
    svg = parser.parse_args().svg
    if not svg:
        return tour(lambda line: print(line, flush=True), coloured=sys.stdout.isatty())
    lines: list[str] = []
    code = tour(lines.append, coloured=True, limit=MAX_PICTURE_LINES)
    if not code:
        Path(svg).write_text(picture("\n".join(lines)), encoding="utf-8")
    return code


def tour(show: Callable[[str], None], *, coloured: bool, limit: int | None = None) -> int:
    """Runs the steps in a temporary repository that is gone afterwards. 0, unless the run did not come to its end.

    Of each command, `limit` lines are shown.
    """
    bold, dim, plain = ("\x1b[1m", "\x1b[2m", "\x1b[0m") if coloured else ("", "", "")
    failed = 0
    with repository() as (repo, env):
        colour = {"FORCE_COLOR": "1", "PYTEST_ADDOPTS": "--color=yes"} if coloured else {"NO_COLOR": "1"}
        git = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "color.ui", "GIT_CONFIG_VALUE_0": "always"}
        for said, command in STEPS:
            if said:
                show(f"\n{dim}# {said}{plain}")
            show(f"{bold}$ {command}{plain}")
            words = shlex.split(command)
            code = stream(words, repo, env | colour | (git if coloured else {}), show, limit)
            failed |= code if words[0] == "bn" else 0
    show(f"\n{AFTERWARDS}")
    return failed


def stream(words: list[str], repo: str, env: dict[str, str], show: Callable[[str], None], limit: int | None) -> int:
    """Runs a command and shows its lines as they come, up to `limit`."""
    left_out = 0
    with subprocess.Popen(
        words, cwd=repo, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        for number, line in enumerate(folded(line.rstrip("\n") for line in process.stdout)):
            if limit is None or number < limit:
                show(line)
            else:
                left_out += 1
    if left_out:
        show(f"… {left_out} more lines")
    return process.returncode


def folded(lines: Iterable[str]) -> Iterator[str]:
    """The lines with tool calls that follow each other on one, each named once."""
    time, calls = "", list[str]()
    for line in lines:
        if call := CALL.match(line):
            time = time or call[1]
            calls += [call[2]] if call[2] not in calls else []
            continue
        yield from packed(calls, time)
        time, calls = "", []
        yield line
    yield from packed(calls, time)


def packed(calls: list[str], time: str) -> Iterator[str]:
    line = ""
    for call in calls:
        if line and len(line) + len(call) > 110:
            yield line
            line = ""
        line += f" {call}" if line else f"{time}{call}"
    if line:
        yield line


@contextlib.contextmanager
def repository() -> Iterator[tuple[str, dict[str, str]]]:
    """The shop in a git repository, and an environment in which nothing outside of it is touched."""
    with tempfile.TemporaryDirectory(prefix="binnacle-", ignore_cleanup_errors=True) as folder:
        repo = os.path.join(folder, "shop")
        shutil.copytree(SHOP, repo, ignore=shutil.ignore_patterns("__pycache__"))
        who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com", "-c", "commit.gpgsign=false")
        for words in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "-m", "A small shop")):
            subprocess.run(["git", *who, *words], cwd=repo, check=True, timeout=60)
        programs = add_agent(folder)
        env = {name: value for name, value in os.environ.items() if not name.startswith(("BN_", "GIT_"))}
        env |= {name: f"{folder}/{name}" for name in ("BN_DATA_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME")}
        env |= {
            "PATH": os.pathsep.join([programs, str(Path(sys.executable).parent), env.get("PATH", os.defpath)]),
            "VIRTUAL_ENV": sys.prefix,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "GIT_PAGER": "cat",
        }
        try:
            yield repo, env
        finally:
            subprocess.run(["bn", "bridge", "stop"], cwd=repo, env=env, capture_output=True, check=False, timeout=60)


def add_agent(folder: str) -> str:
    """Makes the demo agent a command, `demo-agent`, of a folder of programs; that folder."""
    programs = Path(folder, "bin")
    programs.mkdir()
    command = programs / "demo-agent"
    command.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, str(AGENT)])} "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return str(programs)


def picture(text: str) -> str:
    """Terminal output as SVG."""
    from rich.console import Console
    from rich.text import Text

    console = Console(record=True, width=122, file=io.StringIO(), force_terminal=True)
    console.print(Text.from_ansi(text.strip()))
    svg = console.export_svg(title="bn")
    # The fonts rich links to are on the web; a monospaced one of the reader's does as well.
    start, end = svg.index("<style>") + len("<style>"), svg.index(".terminal-", svg.index("<style>"))
    svg = svg[:start] + svg[end:].replace("Fira Code", "monospace")
    return svg.replace("<svg ", '<svg xml:space="preserve" ', 1)


if __name__ == "__main__":
    sys.exit(main())
