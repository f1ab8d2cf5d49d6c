"""The prompts as agents read them: one file for each recipe and stage, and what is true of all of them as texts.

The prompts of a run's agents are made from the template, as `bn run` does it; the others are those of the recipe.
"""

import re
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from binnacle.app.prompt_templates import own_names
from binnacle.plan.codebase import Codebase
from binnacle.plan.prompt_data import ContextFile, ListedTask, PastOutcome, PromptData, RunSituation
from binnacle.plan.session_plan import SessionSubject, plan
from binnacle.runner.agents.permissions import policy_sentences
from binnacle.runner.planning_stage import describe_part
from binnacle.runner.prompt_template import DEFAULT_TEMPLATE, TemplateValues, find_template, render_template
from binnacle.store.run_planning import RunCoverage
from binnacle.store.views.task_details import TaskDetails
from binnacle.work.planning_steps import PlanningStep
from binnacle.work.specification import find_coverage, parse_specification, split_into_parts
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
    loaded,
    overview,
    related,
)
from plan.snapshot_files import check_snapshot
from plan.test_shipped_recipes import BOX, the_catalog, the_recipe
from work.builders import a_learning, a_task

GOLDEN = Path(__file__).parent / "golden"

SPEC = """# A shop

1. A cart holds products and their numbers.
2. Its total is in cents, with the discount of the customer.
3. An order is what a cart was when it was paid for.
"""

SHOP = parse_specification(SPEC)
PARTS = split_into_parts(SHOP)
COVERAGE = RunCoverage(SHOP, find_coverage(SHOP, {}))

API = a_task(id="bn-1111", title="Keep products in a cart", feature="shop", status="done")
TOTAL = a_task(
    id="bn-2222",
    title="Compute the total of a cart",
    feature="shop",
    discipline="backend",
    priority=1,
    status="in_progress",
    description="`Cart.total()` returns cents. The discount of the customer is subtracted last.",
    acceptance_criteria=("an empty cart costs 0", "a discount never makes a total negative"),
    hints="Discounts are in `customers.py`.",
    pseudocode="sum the prices\nsubtract the discount",
    output_artifacts=("shop/cart.py",),
    covers=("2",),
)
ORDER = a_task(id="bn-3333", title="Make an order of a cart", feature="shop")

SITUATION = RunSituation(
    branch="bn/shop/bn-2222",
    base="0123456789abcdef0123456789abcdef01234567",
    may=policy_sentences("edits", has_checks=True, commits=True),
    checks=("make test",),
)


def planning() -> PromptData:
    """What the planner of a run gets."""
    return loaded(
        description="Sells things.",
        codebase=Codebase(languages=(("Python", 3),), entries=("shop/", "tests/")),
        features=(a_feature("shop", description="What the run shop was asked for."),),
        feature=a_feature("shop", description="What the run shop was asked for."),
        user_input=SPEC.strip(),
        asked_file="docs/shop.md",
        run=RunSituation(part=describe_part(COVERAGE, PlanningStep(PARTS[0], SHOP.requirements, False, "part 1"))),
    )


def planning_a_part() -> PromptData:
    """What the planner gets of the second part of a long specification."""
    part, done = PARTS[0]._replace(number=2, total=3), SHOP.requirements[:1]
    step = PlanningStep(part, SHOP.requirements[1:], False, "part 2")
    listing = (ListedTask(task=replace(API, status="pending", covers=tuple(one.id for one in done))),)
    return replace(planning(), listing=listing, run=RunSituation(part=describe_part(COVERAGE, step)))


def planning_again() -> PromptData:
    """What a planner gets if another left something without a task."""
    step = PlanningStep(PARTS[0], SHOP.requirements[2:], True, "again 1")
    return replace(planning_a_part(), run=RunSituation(part=describe_part(COVERAGE, step)))


def doing(**fields) -> PromptData:
    """What the agent of a run gets that does one task."""
    listing = (ListedTask(task=TOTAL), ListedTask(task=ORDER, waits_for=(TOTAL.id,)), ListedTask(task=API))
    known = {
        "description": "Sells things.",
        "overview": overview(in_progress=1, pending=1, done=1),
        "codebase": Codebase(languages=(("Python", 3),), entries=("shop/", "tests/")),
        "features": (a_feature("shop", description="Carts and orders."),),
        "disciplines": (a_discipline("backend", skills=("SQL",)),),
        "feature": a_feature("shop", description="Carts and orders.", boundaries="payment"),
        "discipline": a_discipline("backend", system_prompt="You build what people do not see."),
        "files": (ContextFile(path="shop/cart.py"), ContextFile(path="shop/prices.py", exists=False)),
        "learnings": (a_learning("prices are in cents"),),
        "notes": (a_note("the tests need the fixture `shop`"),),
        "history": (an_iteration(1, "The cart keeps products.", ago=timedelta(hours=3)),),
        "progress": (an_entry("the cart keeps products"),),
        "listing": listing,
        "dependencies": (
            PastOutcome(
                task=API,
                reason="it has the prices",
                said="`Cart.add` and `Cart.remove` work. Prices are integers.",
                commits=("89abcdef0123456789abcdef0123456789abcdef",),
            ),
        ),
        "task": TaskDetails(task=TOTAL, dependents=(related(ORDER.id, ORDER.title),)),
        "answers": ("May a total be negative? — No, it ends at 0.",),
        "requirements": ("2. Its total is in cents, with the discount of the customer.",),
        "asked_file": "docs/shop.md",
        "run": SITUATION,
        "user_input": SPEC.strip(),
    }
    return loaded(**{**known, **fields})


def trying_again(**fields) -> PromptData:
    return doing(
        attempts=(
            an_attempt("tests/test_cart.py::test_discount failed", commit_id="fedcba9876543210", files=2),
            an_attempt(
                "",
                at=NOW - timedelta(hours=1),
                outcome="partial",
                reports=("Partly done: totals without a discount.\n\nRemaining: the discount.",),
            ),
        ),
        remaining=("the discount.",),
        comments=(a_comment("Round down, please.", author="ann"),),
        run=replace(SITUATION, attempt=3),
        **fields,
    )


def resolving() -> PromptData:
    conflict = """Your branch and `bn/shop/run` both changed these files:

- shop/cart.py: yours is "Compute the total of a cart", the other side is bn-4444 "Let a cart be emptied" in 44444444"""
    return doing(
        attempts=(an_attempt("conflict in shop/cart.py", outcome="conflict", commit_id="fedcba9876543210", files=1),),
        run=replace(SITUATION, attempt=2, conflict=conflict),
    )


def reviewing() -> PromptData:
    """What an agent gets that reviews the change of a task. What its worker said is there, and not for them."""
    return replace(trying_again(), task=TaskDetails(task=replace(TOTAL, status="in_review")), change=a_change(TOTAL))


PLANNING = {"plan": planning, "part": planning_a_part, "again": planning_again}
REVIEWING = {"change": reviewing}
IN_RUNS = ("loop", "loop_debug", "report", "task")
STAGES = {"do": doing, "attempt": trying_again, "conflict": resolving}

PROMPTS = {
    **{name: ("", name) for name in BOX},
    **{f"plan.{stage}": (stage, "plan") for stage in PLANNING},
    **{f"code_review.{stage}": (stage, "code_review") for stage in REVIEWING},
    **{f"{name}.{stage}": (stage, name) for name in IN_RUNS for stage in STAGES},
}
"""Every file: its stage in a run, or nothing, and its recipe."""


def prompt_of(file: str) -> str:
    stage, recipe = PROMPTS[file]
    given = trying_again(extra="And quickly.") if not stage else (PLANNING | REVIEWING | STAGES)[stage]()
    given = given if stage else replace(given, run=None)
    about = SessionSubject(given.discipline, "shop", given.task.task if given.task else None)
    made = plan(the_recipe(recipe), the_catalog(), about, given)
    if not stage or stage in PLANNING | REVIEWING:
        return made.prompt.text
    names = {tool.tool: tool.name for tool in reversed(made.tools)}
    values = TemplateValues(run="shop", session="bns-0001", iteration=4)
    template = find_template(".", DEFAULT_TEMPLATE)
    return render_template(template, the_recipe(recipe), given, names, values, tools=own_names(the_catalog()))


@pytest.mark.parametrize("file", PROMPTS)
class TestPrompts:
    """A change of a file is a change of the product: look at the difference."""

    def test_it_is_as_it_was(self, file):
        check_snapshot(GOLDEN / f"{file}.md", prompt_of(file))

    def test_nothing_of_its_making_is_left_in_it(self, file):
        text = prompt_of(file)
        assert "\n\n\n" not in text
        assert not re.search(r"[ \t]$", text, re.MULTILINE)
        assert not re.search(r"^## .*\n+(## |\Z)", text, re.MULTILINE), "a heading without text"
        assert not re.search(r"\{\{|\}\}|\{\w|(?<!`)``(?!`)| \(\)| [.,;:](\s|$)|[^.]\.\.(\s|$)|,,|;;|None", text)
        workflow = re.search(r"## (?:Instructions|Workflow)\n\n(.*?)(?:\n\n|\Z)", text, re.DOTALL)
        assert workflow is not None
        steps = [line.partition(". ")[0] for line in workflow[1].strip().splitlines()]
        assert steps == [str(number) for number in range(1, len(steps) + 1)]

    def test_no_rule_is_there_twice(self, file):
        rules = re.sub(r".*?(?=## (Rules|Instructions))", "", prompt_of(file), count=1, flags=re.DOTALL)
        sentences = re.findall(r"[A-Z`][^.]{15,}\.", rules)
        assert sorted(sentences) == sorted(set(sentences))
        assert len(re.findall("last thing you do", rules)) <= 1

    def test_a_run_says_what_its_policy_allows_and_no_more(self, file):
        stage, _ = PROMPTS[file]
        text = prompt_of(file)
        tells = re.search(r"(?i)\bcommit (what|your|it)\b|run the tests", text)
        assert not (stage and tells)
        if stage in STAGES:
            assert text.count("`make test`") == text.count("These commands check your work: `make test`.") == 1
            assert "Shell commands are refused, except the checks, exactly as written above." in text
            assert "Do not commit: your changes are committed when you have finished." in text


@pytest.mark.parametrize("name", IN_RUNS)
def test_whoever_does_a_task_is_told_once_to_search_first_and_to_leave_no_placeholders(name):
    for stage in STAGES:
        text = prompt_of(f"{name}.{stage}")
        assert text.count("before you assume that something is missing") == 1
        assert text.count("no placeholders") == 1


@pytest.mark.parametrize("name", IN_RUNS)
def test_whoever_does_a_task_of_a_run_reads_all_that_decides(name):
    """Found by trying it: the agent got title and description only."""
    text = prompt_of(f"{name}.attempt")
    for said in (
        *(TOTAL.title, TOTAL.description, *TOTAL.acceptance_criteria, TOTAL.hints, *TOTAL.pseudocode.splitlines()),
        *("shop/cart.py", "Carts and orders.", "You build what people do not see.", "prices are in cents"),
        *("commit 89abcdef0123", "`Cart.add` and `Cart.remove` work. Prices are integers."),
        *("tests/test_cart.py::test_discount failed", "Remaining: the discount.", "commit fedcba987654"),
        *("Round down, please.", "No, it ends at 0.", "bn/shop/bn-2222", "`make test`", "This is attempt 3 of 3."),
        *("2. Its total is in cents, with the discount of the customer.", "`docs/shop.md` has the specification."),
        *("Search the code before you assume that something is missing.", "Leave no placeholders."),
    ):
        assert said in text, said
    assert "An order is what a cart was" not in text, "what its task does not cover is not in it"
    assert "Let a cart be emptied" in prompt_of(f"{name}.conflict")
    assert "Resolve the conflict above before anything else." in prompt_of(f"{name}.conflict")


def test_whoever_reviews_a_change_reads_what_was_asked_for_and_nothing_that_its_worker_said():
    text = prompt_of("code_review.change")
    for said in (
        *(TOTAL.title, TOTAL.description, *TOTAL.acceptance_criteria, "check tests: pass", "tests: pass, 14 tests ran"),
        *(
            "test changed: tests/test_cart.py",
            "an empty cart raises",
            "fedcba98",
            "review bnv-1a2b",
            "it changes shop/**",
        ),
        "2. Its total is in cents, with the discount of the customer.",
    ):
        assert said in text, said
    for said in (
        "Partly done",
        "Remaining",
        "Round down",
        "`Cart.add` and",
        "the fixture `shop`",
        "prices are in cents",
    ):
        assert said not in text, said


def test_no_golden_file_is_left_over():
    assert {file.name for file in GOLDEN.iterdir()} == {f"{name}.md" for name in PROMPTS}
