"""A store that a test fills: what waits for a person, tasks on a board, changes in review.

A store belongs to nobody, so what is written here while a page is open is the change of another process.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from binnacle.project.project import find_project
from binnacle.project.store_opening import open_store
from binnacle.store import attempts, attention, evidence, questions, reviews, runs, sessions, task_moves, tasks
from binnacle.store.attempts import Spending
from binnacle.store.tasks import TaskFilter
from binnacle.store.transaction import Reader, Writer
from binnacle.upstream.configuration.config_paths import config_files
from binnacle.work.actor import SYSTEM, Actor
from binnacle.work.evidence import Evidence
from binnacle.work.gaming import ChangeFinding
from binnacle.work.review_policy import ReviewNeed
from binnacle.work.task import NewTask
from places import NOW
from runner.repositories import Repository

Result = TypeVar("Result")

PERSON = Actor("ann", "human")
"""Who uses the page."""

HELPER = Actor("helper", "agent")

HOSTILE_LINE = "<img src=x onerror=alert(1)> \u200bzero \u061cwidth [a](javascript:alert(1)) `rm -rf /` <b>bold</b>"
"""What a title may be. The store itself keeps neither control characters nor most marks that turn text around."""

HOSTILE_TEXT = f"""# {HOSTILE_LINE}

<script>alert(1)</script><iframe src="https://example.org/"></iframe>

![a picture](https://example.org/picture.png) [a page](https://example.org/page) [run](javascript:alert(1))
[data](data:text/html,<script>alert(1)</script>) <https://example.org/plain> https://example.org/bare

| a | <b>b</b> |
|---|---|
| `x` | ![](http://127.0.0.1/track.gif) |
"""

FAILED_TEST = "tests/test_cart.py::test_tax"
FAILED = Evidence(
    id="", check_name="tests", definition="d", commit_id="c" * 40, tree="a" * 40, verdict="fail",
    reason="1 new failure", new_failed=(FAILED_TEST,), failed=(FAILED_TEST,), ran=12, seconds=3.2,
    log_excerpt="E       assert 19 == 7\nE        +  where 19 = tax(100)", created_at=NOW,
)  # fmt: skip
PASSED = replace(FAILED, verdict="pass", reason="", new_failed=(), failed=(), log_excerpt="", passed=(FAILED_TEST,))


class StockedProject:
    """A repository, and the store of its project."""

    def __init__(self, repo: Path) -> None:
        self.repo = repo
        self.code = Repository(repo)
        self.project = find_project(str(repo))

    @classmethod
    def new(cls, repo: Path) -> "StockedProject":
        """A repository with a first commit, for tests that share one."""
        Repository.new(repo, {"README.md": "# Shop\n"})
        return cls(repo)

    def write(self, change: Callable[[Writer], Result], *, by: Actor = HELPER, session: str | None = None) -> Result:
        """The result of a change by somebody else than the page."""
        with (
            open_store(self.project, workspace=str(self.repo)) as store,
            store.write(by=by, session=session) as tx,
        ):
            return change(tx)

    def read(self, look: Callable[[Reader], Result]) -> Result:
        """What the store says."""
        with open_store(self.project, workspace=str(self.repo)) as store, store.read() as tx:
            return look(tx)

    def add(self, *titles: str, **fields: Any) -> list[str]:
        """Adds tasks and returns their ids."""
        return [one.id for one in self.write(lambda tx: tasks.add(tx, [NewTask(title=t, **fields) for t in titles]))]

    def task(self, task_id: str) -> Any:
        return self.read(lambda tx: tasks.get(tx, task_id))

    def attention(self, entry: str) -> Any:
        return self.read(lambda tx: attention.get(tx, entry))

    def ask_permission(self, title: str = "run: make release", body: str = "kind: execute\nmake release") -> str:
        options = ("yes", "no", "always")
        return self.write(lambda tx: attention.open_entry(tx, "permission", title, body=body, options=options)).id

    def ask_question(
        self, text: str, *, options: Sequence[str] = (), preferred: str = "", title: str = "Compute the tax"
    ) -> str:
        """An agent asks about a new task and waits; the id of the question."""
        (task,) = self.add(title)

        def ask(tx: Writer) -> str:
            made = questions.ask(tx, task, text, blocking=True, options=options, preferred=preferred)
            task_moves.set_status(tx, task, "needs_input", force=True)
            return made.id

        return self.write(ask)

    def use_up_attempts(self, title: str = "Export the orders", *, count: int = 2) -> str:
        """Agents try a new task in vain until a person is asked; the id of the task."""
        (task,) = self.add(title, tags=("stuck",), description="As a CSV file, for the accountant.")

        def try_in_vain(tx: Writer) -> None:
            session = sessions.start(tx)
            for number in range(1, count + 1):
                with tx.acting_as(SYSTEM, session=None):
                    claimed = attempts.claim(tx, session.id, TaskFilter(tag="stuck"))
                assert claimed is not None
                spent = Spending(seconds=61.0, tokens=5200, cost=0.31, currency="USD")
                attempts.note_spending(tx, session.id, claimed.number, spent)
                attempts.note_agent(tx, session.id, claimed.number, "claude", "opus")
                evidence.add(tx, replace(FAILED, task_id=task))
                reason = f"attempt {number}: a test fails, tests/test_cart.py::test_tax"
                attempts.settle(tx, session.id, claimed.number, "unproven", reason, max_attempts=count)

        self.write(try_in_vain)
        return task

    def end_run(self, name: str = "auth", *, why: str = "budget", said: str = "the budget of 5.00 USD is spent") -> str:
        def end(tx: Writer) -> str:
            run = runs.start(tx, name, feature=None, asked="", asked_file="")
            runs.end(tx, run.id, why=why, said=said, seconds=3600)
            return run.id

        return self.write(end)

    def write_checks(self, command: str = "make test") -> None:
        """A file of the project that has no effect until a person trusts it."""
        self.code.write({".binnacle/checks.yaml": f"checks:\n  - name: tests\n    command: {command}\n"})

    def configure_login(self) -> None:
        """A server that nobody has signed in to."""
        path = Path(next(one.path for one in config_files(str(self.repo)) if one.kind == "user"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            '{"mcpServers": {"tickets": {"url": "https://tickets.example/mcp", "auth": {"type": "oauth"}}}}'
        )

    def put_up(
        self,
        files: Mapping[str, str],
        *,
        title: str = "Compute the tax",
        task: str | None = None,
        base: str | None = None,
        findings: Sequence[ChangeFinding] = (),
        results: Sequence[Evidence] = (PASSED,),
        criteria: Sequence[str] = ("the tax is 7 % of the price", "it is shown on the bill"),
    ) -> str:
        """Commits files and puts the commit up for a review by a person; the id of the review."""
        base = base or self.code.git("rev-parse", "HEAD")
        self.code.write(dict(files))
        self.code.git("add", "--all")
        self.code.git("commit", "--quiet", "--allow-empty", "-m", title)
        commit = self.code.git("rev-parse", "HEAD")
        tree = self.code.git("rev-parse", "HEAD^{tree}")

        def put(tx: Writer) -> str:
            draft = NewTask(title=title, description="See the **price list**.", acceptance_criteria=tuple(criteria))
            of = task or tasks.add(tx, [draft])[0].id
            at = {"commit_id": commit, "tree": tree, "base": base, "task_id": of, "findings": tuple(findings)}
            kept = [evidence.add(tx, replace(one, **at)).id for one in results]
            task_moves.set_status(tx, of, "in_review", force=True)
            need = ReviewNeed(require="person", reasons=("money is involved",))
            made = reviews.open_review(tx, of, commit=commit, tree=tree, base=base, need=need, evidence=kept)
            return made.id

        return self.write(put)
