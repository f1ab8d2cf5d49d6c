"""The next step of an error, in the words of whoever reads it: a tool of the session over MCP, a command in a shell."""

import ast
import inspect
import re
import shlex
from pathlib import Path

import pytest
from hypothesis import given

import binnacle
from binnacle.cli.parser import parse
from binnacle.errors import BinnacleError, Flag, NextStep, Refused, SuggestedCall
from binnacle.plan.session_plan import SessionSubject, bind
from binnacle.tools.exposed_tool import ExposedTool
from binnacle.tools.hints import render_hint
from binnacle.upstream import upstream_steps
from binnacle.work import steps
from plan.test_property import denials, mentioned, session
from plan.test_shipped_recipes import BOX, the_catalog, the_recipe

SAMPLES = {"what": "feature", "tool": "done", "words": "look at it"}
COMMAND = re.compile(r"\bbn [a-z]|(?<![\w-])--[a-z]|(?<![\w-])-[A-Z]\b|\bBN_[A-Z]")
"""What only a reader with a shell can use."""

FOR_PERSON = re.compile(r"ask a person to [^;]+")
RUN = re.compile(r'bn_run \{"args":\[.*?\]\}')

SOURCES = Path(binnacle.__file__).parent
READ_IN_SHELL = {
    "store/maintenance/checks.py": "findings of `bn doctor`",
    "tools/bn_tools.py": "the tools that run commands",
}


def made(function) -> NextStep:
    needed = [one for one in inspect.signature(function).parameters.values() if one.default is one.empty]
    given = [SAMPLES.get(one.name, "bn-1f3a") for one in needed]
    words = {one.name: value for one, value in zip(needed, given, strict=True) if one.kind is one.KEYWORD_ONLY}
    return function(*given[: len(given) - len(words)], **words)


def table() -> dict[str, NextStep]:
    """Every step that errors name, by its name."""
    found: dict[str, NextStep] = {}
    for module in (steps, upstream_steps):
        for name, value in vars(module).items():
            if isinstance(value, NextStep):
                found[name] = value
            elif inspect.isfunction(value) and not name.startswith("_"):
                found[name] = made(value)
    return found


STEPS = table()


def hint(exposed: list[ExposedTool], *parts: str | NextStep | Flag, called: str = "") -> str:
    return render_hint(Refused("no", hint=parts), exposed, called=called)


def tools(*names: str) -> list[ExposedTool]:
    """A session that has these tools, under these names."""
    catalog = the_catalog()
    return [ExposedTool(name, *catalog.find(name)) for name in names]


def test_in_a_shell_a_step_names_its_command():
    error = Refused("no", hint=(steps.TAKE_ANOTHER, Flag("force", "starts it anyway")))
    assert error.hint == "take another task: bn next --claim; --force starts it anyway"
    assert error.to_dict()["hint"] == error.hint


@pytest.mark.parametrize(
    ("there", "said"),
    [
        (["task_claim", "task_next", "bn_run"], "take another task: task_claim"),
        (["task-next", "bn_run"], "take another task: task-next"),
        (["task_get", "bn_run"], 'take another task: bn_run {"args":["next","--claim"]}'),
        (["task_get"], "take another task"),
    ],
)
def test_over_mcp_a_step_names_the_best_tool_that_is_there(there, said):
    assert hint(tools(*there), steps.TAKE_ANOTHER) == said


def test_a_call_is_shown_with_its_arguments_under_the_name_the_session_knows():
    said = hint(tools("task-update"), steps.reopen("bn-1f3a"))
    assert said == 'reopen it: task-update {"id":"bn-1f3a","status":"pending"}'


def test_a_tool_that_may_not_take_the_arguments_is_not_named():
    recipe, catalog = the_recipe("review"), the_catalog()
    updates = [rule for rule in recipe.tools if rule.name == "update_task"]
    assert updates[0].only == ("priority", "description")
    assert hint(bind(recipe, updates, catalog, SessionSubject()), steps.reopen("bn-1f3a")) == "reopen it"


def test_a_check_is_turned_off_by_a_parameter_that_the_called_tool_has():
    force = Flag("force", "takes a second one")
    there = tools("task_claim", "task-update")
    assert hint(there, "finish it first", force, called="task_claim") == (
        "finish it first; force: true takes a second one"
    )
    assert hint(there, "finish it first", force, called="task-update") == "finish it first"


def test_what_only_a_person_can_do_is_said_so_with_their_command():
    said = "ask a person to answer it: bn ask answer bnq-1 '…'"
    assert hint(tools("bn_run"), steps.answer("bnq-1")) == said
    assert hint([], steps.CHECK_STORE) == "ask a person to check the store: bn doctor"
    assert hint(tools("bn_run"), steps.CHECK_STORE) == 'check the store: bn_run {"args":["doctor"]}'


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_every_step_has_a_command_and_tools_that_exist(step):
    if step.command:
        parse(shlex.split(step.command))
    for call in step.calls:
        spec = the_catalog().find(call.tool).spec
        assert call.tool == spec.name, "by its own name"
        assert call.arguments.keys() <= set(spec.parameters.__struct_fields__)


def check_readable(exposed: list[ExposedTool]) -> None:
    for name, step in STEPS.items():
        said = hint(exposed, step, Flag("force", "does it all the same"))
        assert not COMMAND.search(FOR_PERSON.sub("", RUN.sub("", said))), name
        assert mentioned(said) <= {one.name for one in exposed}, name


@pytest.mark.parametrize("recipe", BOX)
def test_no_recipe_is_told_of_a_command_or_a_tool_that_it_does_not_have(recipe):
    check_readable(session(recipe, (), own=True)[1])


@given(denied=denials("default"))
def test_nor_is_a_session_that_is_denied_some_tools(denied):
    check_readable(session("default", denied, own=False)[1])


def texts_in(node: ast.AST) -> list[str]:
    """The texts under a node, except the parts of a step, which know their reader."""
    if isinstance(node, ast.Call):
        return []
    own = [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []
    return own + [text for child in ast.iter_child_nodes(node) for text in texts_in(child)]


def hints_in(tree: ast.AST) -> list[str]:
    """What is given as a hint, or assigned to a name that ends in `hint`."""
    found: list[ast.AST] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            found += [word.value for word in node.keywords if word.arg == "hint"]
        elif isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id.casefold().endswith(("hint", "hints")) for target in node.targets
        ):
            found.append(node.value)
    return [text for node in found for text in texts_in(node)]


@pytest.mark.parametrize("layer", ["work", "store", "tools", "plan", "upstream", "bridge"])
def test_a_hint_that_agents_may_read_is_a_step_and_names_no_command_itself(layer):
    files = sorted((SOURCES / layer).rglob("*.py"))
    wrong = [
        f"{name}: {text}"
        for path in files
        if (name := path.relative_to(SOURCES).as_posix()) not in READ_IN_SHELL
        for text in hints_in(ast.parse(path.read_text()))
        if COMMAND.search(text)
    ]
    assert files
    assert wrong == []


def test_an_error_that_is_passed_on_keeps_its_steps():
    first = Refused("no", hint=steps.TAKE_ANOTHER)
    again = BinnacleError("still no", hint=("it was tried twice", *first.next_steps))
    assert render_hint(again, tools("task_claim"), called="") == "it was tried twice; take another task: task_claim"


def test_a_step_without_arguments_is_only_the_name_of_its_tool():
    step = NextStep("see all of it", "status", (SuggestedCall("project_info"),))
    assert hint(tools("get_project_info"), step) == "see all of it: get_project_info"
