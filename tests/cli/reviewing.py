"""Projects whose changes somebody has to look at, for the tests of `bn review`."""

from pathlib import Path

import pytest

from binnacle.store import reviews, task_moves, tasks
from binnacle.store.opening import open_sqlite
from binnacle.work.actor import SYSTEM
from binnacle.work.review_policy import ReviewNeed
from cli.conftest import Bn
from runner.repositories import Repository

REVIEW = "review:\n  default: person\n"
CHECKS = "checks:\n  - name: tests\n    command: grep -q good work.txt\n"


@pytest.fixture
def repo(bn: Bn) -> Repository:
    made = Repository(bn.repo)
    made.git("checkout", "-q", "-b", "main")
    made.commit("first", {"work.txt": "bad\n", "other.txt": "1\n2\n3\n"})
    return made


@pytest.fixture
def reviewed(bn: Bn, repo: Repository) -> Bn:
    """A project in which a person looks at every change, and a check runs on each."""
    trust(bn, CHECKS + REVIEW)
    return bn


def trust(bn: Bn, text: str) -> None:
    """Writes the file of checks and trusts all of it."""
    folder = Path(bn.repo, ".binnacle")
    folder.mkdir(exist_ok=True)
    (folder / "checks.yaml").write_text(text)
    bn("trust", "check", "--yes")


def begin(bn: Bn, title: str = "the work", *options: str) -> str:
    """A task that an agent has taken."""
    task = bn.add(title, *options)
    bn("task", "start", task, env=bn.agent("helper"))
    return task


def call_done(bn: Bn, task: str) -> str:
    """The agent calls a task done; returns the review that it waits for then."""
    done = bn.run("task", "done", task, "-m", "built", env=bn.agent("helper"))
    assert (done.code, done.json["task"]["status"]) == (1, "in_review"), done
    return bn("task", "show", task)["review"]["id"]


def put_up(bn: Bn, repo: Repository, files: dict[str, str] | None = None) -> tuple[str, str]:
    """A task whose change waits for a review, and the commit."""
    task = begin(bn)
    commit = repo.commit("the work", {"work.txt": "good\n", **(files or {})})
    call_done(bn, task)
    return task, commit


def put_up_again(bn: Bn, repo: Repository, task: str, files: dict[str, str]) -> tuple[str, str]:
    """The agent takes a task up again and puts another commit up; returns the commit and the review."""
    bn("task", "start", task, env=bn.agent("helper"))
    commit = repo.commit("the work again", files)
    return commit, call_done(bn, task)


def open_review(bn: Bn, task: str, commit: str, base: str, *, require: str = "person", run: str | None = None) -> str:
    """A review of a commit, as Binnacle opens it; returns its id."""
    tree = Repository(bn.repo).git("rev-parse", f"{commit}^{{tree}}")
    need = ReviewNeed(require=require, reasons=("it is important",))
    with open_sqlite(str(Path(bn("store", "path")["path"], "store.db"))) as store, store.write(by=SYSTEM) as tx:
        task_moves.set_status(tx, task, "in_review", force=True)
        made = reviews.open_review(tx, tasks.get(tx, task).id, commit=commit, tree=tree, base=base, need=need, run=run)
    return made.id
