"""Sections of a prompt: what each of them says, and when it says nothing."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from binnacle.plan.codebase import Codebase
from binnacle.plan.prompt_data import (
    ContextFile,
    ListedTask,
    PastOutcome,
    PlannedPart,
    RunSituation,
    UncoveredRequirement,
)
from binnacle.plan.sections import FORMS, SECTIONS
from binnacle.store.views.task_details import TaskDetails
from places import NOW
from plan.loaded import (
    a_change,
    a_comment,
    a_discipline,
    a_feature,
    a_note,
    an_attempt,
    an_entry,
    an_iteration,
    everything,
    loaded,
    overview,
    related,
)
from work.builders import a_learning, a_task


def said(name: str, **fields) -> str:
    return SECTIONS[name](loaded(**fields))


def test_every_section_has_a_form_and_something_to_say():
    assert FORMS.keys() == {*SECTIONS, "instructions"}
    whole, outside = everything(), replace(everything(), run=None)
    part = PlannedPart(text="- a", outline="- A", uncovered=(UncoveredRequirement(id="R1", text="a"),))
    planner = replace(everything(), task=None, run=RunSituation(part=part))
    reviewer = replace(outside, change=a_change(a_task()))
    assert all(any(map(section, (whole, outside, planner, reviewer))) for section in SECTIONS.values())
    assert {name: section(whole) for name, section in SECTIONS.items()} == {
        name: section(everything()) for name, section in SECTIONS.items()
    }


def test_with_nothing_loaded_only_the_project_is_named():
    empty = loaded()
    assert {name for name, section in SECTIONS.items() if section(empty)} == {"project"}
    assert SECTIONS["project"](empty) == "harbour."


def test_the_project_says_what_it_is_and_how_it_stands():
    assert said("project", project="Harbour", description="Ships.", overview=overview(pending=3, in_progress=1)) == (
        "Harbour (in harbour/): Ships.\n4 tasks: 3 pending, 1 in progress; 3 can be taken now."
    )


def test_the_codebase_is_counted_by_language():
    found = Codebase(languages=(("Python", 12), ("SQL", 2)), entries=("README.md", "src/", "src/app/"), left_out=4)
    assert said("codebase", codebase=found) == (
        "Source files: 12 Python, 2 SQL.\n- README.md\n- src/\n- src/app/\n- … 4 more"
    )
    cut = Codebase(languages=(("Go", 9),), is_whole=False)
    assert "9 Go among the files read; the repository is larger" in said("codebase", codebase=cut)
    assert said("codebase", codebase=Codebase()) == ""


def test_features_and_disciplines_take_a_line_each():
    features = (a_feature("auth", title="Signing in", description="Tokens. And more."), a_feature("billing"))
    assert said("features", features=features) == "- auth (Signing in): Tokens.\n- billing"
    people = (a_discipline(skills=("HTML", "CSS")),)
    assert said("disciplines", disciplines=people) == "- frontend: HTML, CSS"


def test_a_feature_says_where_it_ends():
    one = a_feature(description="Logging in.", architecture="A middleware.", boundaries="Roles.", dependencies=("db",))
    assert said("feature", feature=one) == (
        "auth.\nLogging in.\n\nArchitecture: A middleware.\n\nNot part of it: Roles.\n\nBuilds on: db"
    )


def test_a_file_that_is_gone_is_said_to_be():
    files = (ContextFile(path="src/a.py"), ContextFile(path="src/b.py", exists=False))
    assert said("files", files=files) == "- src/a.py\n- src/b.py (no longer exists)"


def test_learnings_say_where_they_come_from():
    learnings = (
        a_learning("tokens last an hour", reviewed=True, reason="seen in the log"),
        a_learning("ports are random", source="agent", iteration=3, hit_count=4),
    )
    assert said("learnings", learnings=learnings) == (
        "- tokens last an hour [human] (seen in the log)\n"
        "- ports are random [agent, iteration 3, unreviewed, observed 4x]"
    )


def test_a_persona_says_how_it_works():
    one = a_discipline(
        title="Frontend engineer", system_prompt="Mind the states.", skills=("CSS",), conventions="Nouns."
    )
    assert said("persona", discipline=one) == (
        "**Frontend engineer**\n\nMind the states.\n\nSkills: CSS\n\nConventions: Nouns."
    )


@pytest.mark.parametrize(
    ("ago", "age"),
    [
        (timedelta(seconds=-5), "just now"),
        (timedelta(seconds=59), "just now"),
        (timedelta(minutes=1), "1 minute ago"),
        (timedelta(minutes=119), "1 hour ago"),
        (timedelta(hours=47), "1 day ago"),
        (timedelta(days=6), "6 days ago"),
        (timedelta(days=30), "4 weeks ago"),
    ],
)
def test_ages_are_reckoned_from_the_moment_of_loading(ago, age):
    assert said("history", history=(an_iteration(2, "Did it.", ago=ago),)) == f"- Iteration 2, {age}: Did it."


def test_notes_and_progress_are_in_the_order_they_were_written():
    notes = (a_note("first\nmore"), a_note("second", type="decision", iteration=4))
    assert said("notes", notes=notes) == "- [tip] first\n  more\n- [decision, iteration 4] second"
    progress = (an_entry("began", created_at=NOW - timedelta(days=1)), an_entry("ended"))
    assert said("progress", progress=progress) == "- 1 day ago: began\n- just now: ended"


def test_tasks_say_what_one_needs_to_choose():
    tasks = (
        ListedTask(task=a_task(id="bn-1111", title="one", priority=0, feature="auth")),
        ListedTask(task=a_task(id="bn-2222", title="two", status="in_progress", claimed_by="bna-1")),
        ListedTask(task=a_task(id="bn-3333", title="three"), waits_for=("bn-1111", "bn-2222")),
        ListedTask(task=a_task(id="bn-4444", title="four", status="done")),
    )
    assert said("tasks", listing=tasks) == (
        "- [P0] [bn-1111] one (auth)\n"
        "- [P2] [bn-2222] two (in progress; held by bna-1)\n"
        "- [P2] [bn-3333] three (depends on: bn-1111, bn-2222)\n"
        "- [P2] [bn-4444] four (done)"
    )
    assert said("tasks", listing=tasks[:1], feature=a_feature()) == "- [P0] [bn-1111] one"


def test_what_a_task_builds_on_says_what_came_of_it():
    done = a_task(id="bn-1111", title="API", status="done")
    found = (
        PastOutcome(
            task=done,
            reason="the form calls it",
            said="It answers.\nSee docs/api.md.",
            commits=("0123456789abcdef", "f" * 40),
        ),
        PastOutcome(task=a_task(title="db")),
    )
    assert said("dependencies", dependencies=found) == (
        "- [bn-1111] API (done; reason: the form calls it; commits 0123456789ab, ffffffffffff): It answers.\n"
        "  See docs/api.md.\n"
        "- [bn-aaaa] db (pending)"
    )


def test_attempts_say_why_each_did_not_do_it_and_what_is_left():
    tried = (
        an_attempt("exit 1\nof make test", commit_id="0123456789abcdef", files=2),
        an_attempt("", outcome="partial", reports=("Partly done: the form\n\nRemaining: the tests",), by="goose"),
        an_attempt("", outcome="", by="", reports=("Stuck: no database",), summary="Looked around."),
    )
    assert said("attempts", attempts=tried, remaining=("the tests",)) == (
        "- goose with kimi, 2 hours ago: the agent failed: exit 1\n  of make test\n"
        "  Its changes are in commit 0123456789ab (2 files changed).\n"
        "- goose, 2 hours ago: Partly done: the form\n\n  Remaining: the tests\n"
        "- 2 hours ago: Stuck: no database\n  Looked around."
    )
    assert said("attempts", attempts=tried[:1], remaining=("the tests",)).endswith("\n- Left to do: the tests")


def test_comments_say_whose_they_are():
    assert said("comments", comments=(a_comment("mind\nthe gap"),)) == "- bna-0001, 2 hours ago: mind\n  the gap"


def test_what_was_asked_for_is_what_the_task_covers_and_where_the_rest_is():
    task = TaskDetails(task=a_task())
    covered = {"task": task, "requirements": ("R1: log in", "R2: log out"), "user_input": "all of it"}
    assert said("requirements", **covered) == "- R1: log in\n- R2: log out"
    assert said("requirements", **covered, asked_file="docs/spec.md") == (
        "- R1: log in\n- R2: log out\n\n`docs/spec.md` has the specification."
    )
    assert said("requirements", task=task, asked_file="spec.md", run=RunSituation()) == (
        "`spec.md` has the specification. Read what concerns your task."
    )
    assert said("requirements", task=task, user_input="all of it", run=RunSituation()) == "all of it"
    assert said("requirements", task=task, user_input="all of it") == "", "the input says it"
    assert said("requirements", user_input="all of it", run=RunSituation()) == "", "who plans has the input"


def test_a_task_says_all_it_knows():
    task = a_task(
        title="Build the form",
        priority=1,
        feature="auth",
        description="Two fields.",
        acceptance_criteria=("works", "is tested"),
        pseudocode="read\nsend",
        hints="See Register.",
        output_artifacts=("src/form.py",),
        estimated_turns=8,
        status="in_progress",
    )
    found = TaskDetails(
        task=task, parts=(related("bn-2222", "a part"),), dependents=(related("bn-3333", "the button"),)
    )
    assert said("task", task=found) == (
        "**bn-aaaa: Build the form** (task, high priority, in progress; feature auth; about 8 turns)\n\n"
        "Two fields.\n\n"
        "It is done when:\n- works\n- is tested\n\n"
        "How to do it:\n```\nread\nsend\n```\n\n"
        "Hints: See Register.\n\n"
        "Files to produce:\n- src/form.py\n\n"
        "Its parts:\n- [bn-2222] a part (pending)\n\n"
        "Waiting for it:\n- [bn-3333] the button"
    )


def test_a_bare_task_says_no_more_than_it_is():
    assert said("task", task=TaskDetails(task=a_task())) == "**bn-aaaa: mend it** (task, medium priority, pending)"


def test_the_input_is_for_all_but_those_who_do_one_task_of_it():
    task = TaskDetails(task=a_task())
    assert said("input", user_input="Dark mode.", extra="Soon.") == "Dark mode."
    assert said("input", user_input="Dark mode.", run=RunSituation()) == "Dark mode."
    assert said("input", user_input="Dark mode.", task=task) == "Dark mode."
    assert said("input", user_input="Dark mode.", task=task, run=RunSituation()) == ""


def test_an_attempt_of_a_run_says_where_it_works_and_what_it_may_do():
    task = TaskDetails(task=a_task())
    run = RunSituation(
        branch="bn/shop/bn-aaaa",
        base="0123456789abcdef",
        may=("You may change files here.", "Do not commit."),
        checks=("make test", "make lint"),
        conflict="cart.py: ours\n",
        attempt=2,
    )
    assert said("situation", task=task, run=run) == (
        "- You are on the branch `bn/shop/bn-aaaa`, which begins at commit 0123456789ab. Stay on it.\n"
        "- These commands check your work: `make test`, `make lint`.\n"
        "- You may change files here.\n- Do not commit.\n"
        "- This is attempt 2 of 3."
    )
    assert said("conflict", task=task, run=run) == "cart.py: ours"
    assert said("situation", task=task, run=RunSituation()) == (
        "- You work in the person's own folder, on the branch that is checked out. Stay on it."
    )
    assert said("situation", task=task) == said("conflict", task=task) == ""
    assert said("situation", run=run) == "", "who plans changes nothing"
