"""Takes the pictures of the page for README and docs/page.md, of a run of the demo whose changes a person reviews.

python tests/page/pictures.py docs
"""

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2] / "demo")]

import tour  # noqa: E402 - from the folder of the demo

from page.browsing import DESKTOP, Page, Visit, expect, open_browser  # noqa: E402
from web.served_gui import ServedGui  # noqa: E402

RUN_SECONDS = 300
NEEDS_PERSON = 1
"""The exit code of a run that waits for a person."""

TALL = {"width": 1280, "height": 1200}
"""For a view in which more is to be seen than on one screen."""

SETTLE_MILLISECONDS = 1000
"""How long a view may still move after its title is there. Nothing is asserted of a picture."""

IDEAS = (
    ("Show prices with tax", "-p", "high", "--feature", "spec"),
    ("Send a receipt by e-mail", "--feature", "spec"),
    ("Round totals to the cent", "--kind", "bug", "-p", "high"),
    ("Remember the cart of a visitor",),
    ("Let customers change their address", "-p", "low"),
)
"""What else there is to do in the shop."""


def main(folder: str) -> None:
    with ExitStack() as stack:
        path, env = stack.enter_context(tour.repository())
        repo = Path(path)
        run_reviewed(repo, env)
        gui = stack.enter_context(ServedGui(repo, env=env))
        visit = Visit(stack.enter_context(open_browser()), gui)
        take_pictures(visit, Path(folder))
        visit.close()


def run_reviewed(repo: Path, env: dict[str, str]) -> None:
    """Runs the demo until its changes wait for a person, and adds what else there is to do."""
    checks = repo / ".binnacle" / "checks.yaml"
    checks.write_text(checks.read_text() + "review:\n  default: person\n")
    do(repo, env, "git", "-c", "user.name=Ann", "-c", "user.email=ann@example.com", "commit", "-qam", "Review changes")
    for _, command in tour.STEPS:
        if command.startswith(("bn check", "bn run")):
            do(repo, env, *command.split(), may_end=(0, NEEDS_PERSON))
    for idea in IDEAS:
        do(repo, env, "bn", "task", "add", *idea)


def do(repo: Path, env: dict[str, str], *words: str, may_end: tuple[int, ...] = (0,)) -> None:
    done = subprocess.run(
        words, cwd=repo, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=RUN_SECONDS,
        check=False,
    )  # fmt: skip
    assert done.returncode in may_end, f"{words} ended with {done.returncode}: {done.stdout}{done.stderr}"


def take_pictures(visit: Visit, folder: Path) -> None:
    page = visit.open()
    take(page, folder, "needs-you")
    visit.show(page, "board")
    take(page, folder, "board")
    visit.show(page, "runs")
    page.locator("#content").get_by_role("link", name="spec").first.click()
    page.set_viewport_size(TALL)
    take(page, folder, "run")
    page.set_viewport_size(DESKTOP)
    visit.show(page, "review")
    page.locator("#content").get_by_role("link").first.click()
    take(page, folder, "review")


def take(page: Page, folder: Path, name: str) -> None:
    """Takes the picture of a view once everything in it is there."""
    expect(page.locator("#content h1").first).to_be_visible()
    expect(page.get_by_text("Loading")).to_have_count(0)
    page.wait_for_timeout(SETTLE_MILLISECONDS)
    page.screenshot(path=folder / f"page-{name}.png")


if __name__ == "__main__":
    main(sys.argv[1])
