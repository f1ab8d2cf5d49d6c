"""The product in half a minute: a temporary repository, and `bn` doing a day's work in it.

python demo/tour.py                     show it
python demo/tour.py --svg docs/tour.svg write it as a picture, for the README
"""

import argparse
import contextlib
import io
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

BN = str(Path(sys.executable).with_name("bn"))

ANN, BOB = {"BN_USER": "ann"}, {"BN_AGENT_ID": "bna-bob1"}

STEPS: list[tuple[str, dict[str, str], str]] = [
    (
        "Ann describes a part of the product and what is to be done there.",
        ANN,
        "feature add auth -d 'Login, tokens, sessions' -H",
    ),
    ("", ANN, "task add 'Design the token table' -p high -f auth -a 'tokens expire' -H"),
    ("", ANN, "task add 'Write the login endpoint' -f auth --after {Design} --reason 'needs the table' -H"),
    ("", ANN, "task add 'Write the login page' -f auth --after {endpoint} -H"),
    ("", ANN, "task add 'Login fails for names with accents' -k bug -p critical -H"),
    ("What can be done now? What waits has a reason.", ANN, "ready -H"),
    ("", ANN, "graph -H"),
    ("An agent takes the next task. Nobody else can take it while the claim lasts.", BOB, "next --claim -H"),
    ("", BOB, "task comment {accents} 'NFC and NFD forms differ; normalising both sides' -H"),
    ("", BOB, "learning add 'User names arrive in NFD from macOS clients' -f auth -H"),
    ("", BOB, "task done {accents} -m 'normalised to NFC, test added' -H"),
    ("It goes on with the next one; finishing it sets free what waited.", BOB, "next --claim -H"),
    ("", BOB, "task done {Design} -m 'migration merged' -H"),
    ("A mistake changes nothing and says what to do.", ANN, "task dep add {endpoint} {page} -H"),
    ("Everything written can be found again.", ANN, "search nfd -H"),
    ("Programs and agents get the same as JSON.", ANN, "ready"),
    ("And this is how the project stands.", ANN, "-H"),
]
"""What is said, who does it, and the command; {word} stands for the id of the task with that word in its title."""


def main() -> None:
    """Shows the tour, or writes it as a picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--svg", metavar="FILE", help="write a picture instead")
    svg = parser.parse_args().svg
    if not svg:
        tour(print, coloured=sys.stdout.isatty())
        return
    lines: list[str] = []
    tour(lines.append, coloured=True)
    Path(svg).write_text(picture("\n".join(lines)), encoding="utf-8")


def tour(show: Callable[[str], None], *, coloured: bool) -> None:
    """Runs the steps in a temporary repository that is gone afterwards."""
    bold, dim, plain = ("\x1b[1m", "\x1b[2m", "\x1b[0m") if coloured else ("", "", "")
    with repository() as (repo, env):
        for said, who, command in STEPS:
            ids = {task["title"]: task["id"] for task in _bn(env, repo, "task", "list", "--all")}
            words = [_filled(word, ids) for word in shlex.split(command)]
            if said:
                show(f"\n{dim}# {said}{plain}")
            show(f"{bold}{next(iter(who.values()))}$ {shlex.join(['bn', *words])}{plain}")
            colour = {"FORCE_COLOR": "1"} if coloured else {}
            done = subprocess.run(
                [BN, *words],
                cwd=repo,
                env=env | who | colour,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
                timeout=60,
            )
            show(done.stdout.rstrip())


@contextlib.contextmanager
def repository() -> Iterator[tuple[str, dict[str, str]]]:
    """A git repository and an environment in which nothing outside it is touched."""
    with tempfile.TemporaryDirectory(prefix="binnacle-") as folder:
        repo = Path(folder, "shop")
        subprocess.run(["git", "init", "--quiet", str(repo)], check=True, timeout=60)
        env = {name: value for name, value in os.environ.items() if not name.startswith("BN_")}
        yield str(repo), env | {"BN_DATA_DIR": f"{folder}/data", "XDG_CONFIG_HOME": f"{folder}/config"}


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


def _filled(word: str, ids: dict[str, str]) -> str:
    if not word.startswith("{"):
        return word
    return next(task_id for title, task_id in ids.items() if word.strip("{}") in title)


def _bn(env: dict[str, str], repo: str, *words: str) -> list[dict[str, str]]:
    done = subprocess.run([BN, *words], cwd=repo, env=env, capture_output=True, check=True, timeout=60)
    return json.loads(done.stdout)["tasks"]


if __name__ == "__main__":
    main()
