"""The plan of one session: which tools it has under which names, and the prompt that goes with them."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from binnacle.plan.prompt import Prompt, render
from binnacle.plan.prompt_data import PromptData
from binnacle.plan.recipe import Recipe, Scope, ToolRule, expand_rules, matching, names_of
from binnacle.plan.recipe_limits import limits_of
from binnacle.plan.token_count import count
from binnacle.plan.tool_limits import Check, expose
from binnacle.plan.tool_mentions import Step, keep_known
from binnacle.plan.tool_mentions import render as worded
from binnacle.store import features, tasks
from binnacle.store.transaction import Reader
from binnacle.tools.catalog import Catalog
from binnacle.tools.exposed_tool import ExposedTool
from binnacle.tools.tool_search import FINDERS
from binnacle.work.feature import Discipline
from binnacle.work.task import Task

PLAN_FORMAT_VERSION = 1
"""Version of what is kept of a plan."""


class PlannedTool(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool of a session."""

    name: str
    """As the session sees it."""

    tool: str
    """The tool's own name."""

    only: tuple[str, ...] = ()
    task: Scope = "any"
    tokens: int
    """What its entry in `tools/list` costs."""


class SessionPlan(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one session may see and read."""

    session: str
    recipe: str
    discipline: str | None = None
    feature: str | None = None
    task: str | None = None
    input: str = ""
    """What a person wants of the session, in their words."""

    tools: tuple[PlannedTool, ...]
    disabled: Mapping[str, str]
    """Every other tool, by its own name, and why it is not there."""

    prompt: Prompt
    upstreams: Mapping[str, Any] = {}
    """MCP servers of the discipline, in the shape of `mcp.json`; none where their tools come through our server."""

    catalog: str
    """Changes whenever the tools, their limits or the recipe do."""

    limits: Recipe
    """The most that the session may ever have."""

    schema: int = PLAN_FORMAT_VERSION

    @property
    def tool_tokens(self) -> int:
        return sum(tool.tokens for tool in self.tools)

    @property
    def tokens(self) -> int:
        """What the session costs before its first word: prompt and tools."""
        return self.prompt.tokens + self.tool_tokens


class SessionSubject(NamedTuple):
    """Whom and what a session is about."""

    discipline: Discipline | None = None
    feature: str | None = None
    task: Task | None = None


def subject(tx: Reader, discipline: str | None, feature: str | None, task: str | None) -> SessionSubject:
    """What was named; what was not follows from the task.

    Raises:
        NotFound: something of that name does not exist.
    """
    about = tasks.get(tx, task) if task else None
    who = discipline or (about.discipline if about else None)
    where = feature or (about.feature if about else None)
    return SessionSubject(
        features.get_discipline(tx, who) if who else None, features.get(tx, where).name if where else None, about
    )


def plan(
    recipe: Recipe, catalog: Catalog, about: SessionSubject, loaded: PromptData, *, session: str = ""
) -> SessionPlan:
    """Works out what a session gets. The same input gives the same plan, to the byte."""
    rules, disabled = choose(recipe, catalog, about.discipline)
    exposed = bind(recipe, rules, catalog, about)
    names = shown_names(exposed)
    entries = [msgspec.json.encode(one.entry()) for one in exposed]
    tools = tuple(
        PlannedTool(name=rule.name, tool=one.spec.name, only=rule.only, task=rule.task, tokens=count(entry.decode()))
        for rule, one, entry in zip(rules, exposed, entries, strict=True)
    )
    return SessionPlan(
        session=session,
        recipe=recipe.name,
        discipline=about.discipline.name if about.discipline else None,
        feature=about.feature,
        task=about.task.id if about.task else None,
        input=loaded.user_input,
        tools=tools,
        disabled=disabled,
        prompt=render(recipe, loaded, names, all_names=all_names(catalog)),
        upstreams=about.discipline.upstreams if about.discipline and not recipe.upstreams else {},
        catalog=digest(recipe, entries),
        limits=limits_of(recipe),
    )


def choose(recipe: Recipe, catalog: Catalog, discipline: Discipline | None) -> tuple[list[ToolRule], dict[str, str]]:
    """The tools of the recipe that the discipline may use, and why it has no others, by their own names."""
    denied = discipline.denied_tools if discipline else ()
    rules: list[ToolRule] = []
    disabled: dict[str, str] = {}
    for rule in _allowed(recipe, catalog):
        own = catalog.find(rule.name).spec.name
        if discipline and (word := matching(denied, names_of(rule.name, catalog))):
            disabled[own] = f"denied to the discipline {discipline.name} by {word!r}"
        else:
            rules.append(rule)
    there = {catalog.find(rule.name).spec.name for rule in rules}
    for spec in catalog:
        if spec.name not in there:
            disabled.setdefault(spec.name, _why_not(spec.name, recipe))
    return rules, dict(sorted(disabled.items()))


def _why_not(name: str, recipe: Recipe) -> str:
    if name in FINDERS and recipe.upstreams:
        return f"there when the tools of other servers do not fit into {recipe.tool_budget} tokens"
    return f"not in the recipe {recipe.name}"


def finders(recipe: Recipe, catalog: Catalog, about: SessionSubject) -> list[ExposedTool]:
    """The tools by which those are found that do not fit into the list, as far as the discipline may use them."""
    denied = about.discipline.denied_tools if about.discipline else ()
    rules = [ToolRule(name=name) for name in FINDERS if not matching(denied, names_of(name, catalog))]
    return bind(recipe, rules, catalog, about)


def _allowed(recipe: Recipe, catalog: Catalog) -> list[ToolRule]:
    """The tools that the recipe names, and where it lets others join, those of other servers and of the project."""
    rules = expand_rules(recipe, catalog)
    named = {catalog.find(rule.name).spec.name for rule in rules}
    others = (spec.name for spec in catalog if spec.foreign is not None or spec.joins)
    return [*rules, *(ToolRule(name=name) for name in others if recipe.upstreams and name not in named)]


def bind(
    recipe: Recipe, rules: list[ToolRule], catalog: Catalog, about: SessionSubject, *, check: Check | None = None
) -> list[ExposedTool]:
    """The tools of a session, within its limits. Nothing they say of themselves names a tool that is not there."""
    task = about.task.id if about.task else None
    feature = about.feature if recipe.keeps_to_feature else None
    status = recipe.created_status
    exposed = [expose(one, catalog, created_status=status, task=task, feature=feature, check=check) for one in rules]
    worded = partial(keep_known, names=shown_names(exposed), all_names=all_names(catalog))
    return [one._replace(worded=worded) for one in exposed]


def shown_names(exposed: Sequence[ExposedTool]) -> dict[str, str]:
    """The name of each tool in its session, by its own; the first one, where it has several."""
    return {one.spec.name: one.name for one in reversed(exposed)}


def all_names(catalog: Catalog) -> frozenset[str]:
    """Every name of every tool."""
    return frozenset(name for spec in catalog for name in (spec.name, *(alias.name for alias in spec.aliases)))


def introduction(names: Mapping[str, str]) -> str:
    """What a server says of itself to a client, in sentences about tools that are there."""
    return " ".join(["Binnacle keeps the work of this repository.", *worded(INTRODUCTION, names)])


INTRODUCTION: tuple[Step, ...] = (
    ("Take a task with {task_claim}.", "See which task is next with {task_next}."),
    ("Read a task with {task_get}.", "List tasks with {task_list}."),
    ("Say what came of it with {report_done}.", "Finish a task with {task_status}.", "Finish it with {task_update}."),
    ("{bn_run} runs any bn command; call {binnacle-set_agent} first.",),
    ("Find more tools with {tool_search} and call them with {tool_call}.", "Find more tools with {tool_search}."),
)


def digest(recipe: Recipe, entries: Sequence[bytes]) -> str:
    """Changes whenever the tools, their limits or the recipe do."""
    from hashlib import sha256

    return sha256(b"\n".join([msgspec.json.encode(recipe), *entries])).hexdigest()[:16]
