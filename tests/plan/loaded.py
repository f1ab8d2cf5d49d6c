"""What a prompt is made of, for trying its sections on."""

from datetime import timedelta
from typing import Any

from binnacle.plan.past_attempts import PastAttempt
from binnacle.plan.prompt_data import ListedTask, PastOutcome, PromptData, RunSituation
from binnacle.store.views.overview import ProjectOverview
from binnacle.store.views.task_details import RelatedTask, TaskDetails
from binnacle.work.evidence import Evidence
from binnacle.work.feature import Discipline, Feature
from binnacle.work.gaming import ChangeFinding
from binnacle.work.journal import Comment, Note, Progress
from binnacle.work.review import Review, ReviewRemark
from binnacle.work.review_material import ReviewMaterial, judge_criteria
from binnacle.work.session import Iteration
from binnacle.work.task import Task
from places import NOW
from work.builders import a_task

AGO = {"created_at": NOW - timedelta(hours=2), "updated_at": NOW}


def loaded(**fields: Any) -> PromptData:
    known: dict[str, Any] = {"now": NOW, "project": "harbour", "root": "harbour", "overview": overview()}
    return PromptData(**{**known, **fields})


def overview(**by_status: int) -> ProjectOverview:
    return ProjectOverview(
        tasks=sum(by_status.values()), ready=by_status.get("pending", 0), waiting=0, by_status=by_status, queued=0
    )


def a_feature(name: str = "auth", **fields: Any) -> Feature:
    return Feature(**{"name": name, "title": name.capitalize(), "acronym": "AUTH", **AGO, **fields})


def a_discipline(name: str = "frontend", **fields: Any) -> Discipline:
    return Discipline(**{"name": name, "title": name.capitalize(), "acronym": "FRON", **AGO, **fields})


def a_comment(body: str, **fields: Any) -> Comment:
    return Comment(**{"id": "bnc-0001", "task_id": "bn-aaaa", "author": "bna-0001", "body": body, **AGO, **fields})


def an_attempt(reason: str, **fields: Any) -> PastAttempt:
    known = {"by": "goose with kimi", "at": NOW - timedelta(hours=2), "outcome": "failed"}
    return PastAttempt(reason=reason, **{**known, **fields})


def a_remark(body: str, **fields: Any) -> ReviewRemark:
    return ReviewRemark(
        **{
            "id": "bnm-0001", "review": "bnv-0001", "task_id": "bn-1f3a", "author": "ann", "is_by_person": True,
            "commit_id": "c" * 40, "body": body, "state": "sent", "created_at": NOW, **fields,
        }
    )  # fmt: skip


def a_note(content: str, **fields: Any) -> Note:
    known = {"id": "bnn-0001", "type": "tip", "author": "ann", "created_at": NOW}
    return Note(content=content, **{**known, **fields})


def an_entry(text: str, **fields: Any) -> Progress:
    return Progress(**{"number": 1, "text": text, "author": "ann", "created_at": NOW, **fields})


def an_iteration(number: int, summary: str, *, ago: timedelta) -> Iteration:
    return Iteration(
        session="bns-0001", number=number, summary=summary, started_at=NOW - timedelta(days=90), ended_at=NOW - ago
    )


def a_change(task: Task) -> ReviewMaterial:
    """A change of a task that waits for its second review."""
    review = Review(
        id="bnv-1a2b",
        task_id=task.id,
        commit_id="fedcba9876543210fedcba9876543210fedcba98",
        tree="5555",
        base="0123456789abcdef0123456789abcdef01234567",
        round=2,
        require="agent",
        reasons=("it changes shop/**",),
        status="open",
        created_at=NOW,
    )
    remark = ReviewRemark(
        id="bnm-1111", review="bnv-0001", task_id=task.id, author="bns-0009", commit_id="89abcdef01234567",
        path="shop/cart.py", line=12, code="    return total", body="an empty cart raises", state="addressed",
        created_at=NOW,
    )  # fmt: skip
    result = Evidence(
        id="bne-1111", check_name="tests", definition="d", commit_id=review.commit_id, tree=review.tree, verdict="pass",
        ran=14, findings=(ChangeFinding(kind="test_changed", path="tests/test_cart.py", text="changed"),),
        created_at=NOW,
    )  # fmt: skip
    *plain, last = task.acceptance_criteria or ("it works",)
    criteria = judge_criteria((*plain, f"{last} [check: tests]"), [result])
    return ReviewMaterial(review=review, task=task, criteria=criteria, evidence=(result,), remarks=(remark,))


def listed(count: int, **fields: Any) -> tuple[ListedTask, ...]:
    return tuple(ListedTask(task=a_task(id=f"bn-{1000 + n}", title=f"task {n}", **fields)) for n in range(count))


def related(task_id: str, title: str, **fields: Any) -> RelatedTask:
    return RelatedTask(**{"id": task_id, "title": title, "status": "pending", **fields})


def everything() -> PromptData:
    """Something for every section of an attempt in a run."""
    from binnacle.plan.codebase import Codebase
    from binnacle.plan.prompt_data import ContextFile
    from work.builders import a_learning

    task = a_task(title="Build the login form", feature="auth", discipline="frontend", description="A form.")
    return loaded(
        description="Ships and their berths.",
        overview=overview(pending=2, done=1),
        codebase=Codebase(languages=(("Python", 12),), entries=("src/",)),
        features=(a_feature(), a_feature("billing")),
        disciplines=(a_discipline(),),
        feature=a_feature(description="Logging in."),
        discipline=a_discipline(system_prompt="You build what people see. Call task_delete when unsure."),
        files=(ContextFile(path="src/login.py"),),
        learnings=(a_learning("tokens last an hour"),),
        listing=listed(2),
        task=TaskDetails(task=task, dependents=(related("bn-cccc", "Build the log-out button"),)),
        attempts=(an_attempt("the server was down"),),
        comments=(a_comment("mind the cookies"),),
        remaining=("the error messages",),
        answers=("Which colour? Blue.",),
        remarks=(a_remark("say it politely"),),
        dependencies=(
            PastOutcome(task=a_task(id="bn-bbbb", title="Build the API", status="done"), said="It answers."),
        ),
        notes=(a_note("use fetch"),),
        history=(an_iteration(0, "Planned it.", ago=timedelta(hours=3)),),
        progress=(an_entry("began"),),
        requirements=("R3: people log in with their e-mail address",),
        run=RunSituation(branch="bn/auth/bn-aaaa", may=("You may change files here.",), conflict="login.py: ours"),
        user_input="Keep it small.",
        extra="And quick.",
    )
