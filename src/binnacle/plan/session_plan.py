"""The plan of one session: its tools, their names and limits, and its prompt.

What a plan is computed from. Four values: a recipe (`recipe_loader`, narrowed by `recipe_limits`), the catalog of all
tools of the project, the subject (discipline, feature and task), and the data for the prompt (`prompt_data`).
`sessions.planning` loads them in one transaction for a plan that is kept. `serving.toolbox`, for the tools of a server,
and `rights`, for commands, need only the first three. All of them use `choose` and `bind` from here, so a plan that is
shown, a tool that is listed, a call that is checked and a command that is refused cannot disagree.

    recipe ──► choose ──► rules ──► bind ──► exposed tools ──► entries of tools/list, digest
    catalog ────┘  ▲                 ▲           │
    denials ───────┘    task, feature┘           └─► names ──► prompt, introduction

Why it is deterministic. `plan` is a pure function: it reads no clock, file, store or environment. The time and the
survey of the repository are part of the data. Order comes from tuples and from the catalog, and `disabled` is sorted;
tokens are estimated by a fixed rule (`token_count`). So the same values give the same bytes in every process, and the
digest `catalog` changes only when the tools, their limits or the recipe do.

What wins over what, the strongest first:

1. A denial of the discipline. It removes a tool under any of its names, even if the recipe names it.
2. What the session began with (`SessionPlan.limits`). A changed recipe can take rights away at once, but can give a
   running session none, because an agent can write recipes.
3. Trust. Until a person trusts it, a project's recipe gives no more than the built-in one of its name, or, if there is
   none, no commands beyond its tools.
4. The recipe: a project's before a built-in one of the same name, its own rules before those of the recipe it extends,
   and of two rules for one name the first. Upstream tools and the project's scripts come after the rules, and only if
   the recipe says `upstreams`.
5. The limits of a rule on what the agent passes: parameters that are left out do not exist for the session,
   `created_status` replaces any status, and a task outside the rule's scope is refused.
6. A discipline or feature that the request names, before those of the task. A feature that a call names, before the
   default of a session that keeps to one feature.

Text never names a tool that the session lacks: a step is shown in the first of its wordings whose tools all exist
(`tool_mentions`), and descriptions lose sentences about other tools. The budget of the prompt cuts sections by their
share, but nothing that decides: the task, the requirements, earlier attempts, answers, a conflict, where the session
works, the input and the instructions. The budget of the tool list
(`tool_budget`) never removes a tool from the plan; it only decides which tools are listed and which must be searched.
"""

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
"""Version of the format in which a plan is saved."""


class PlannedTool(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool of a session."""

    name: str
    """Its name in the session."""

    tool: str
    """The tool's own name."""

    only: tuple[str, ...] = ()
    task: Scope = "any"
    tokens: int
    """The size of its entry in `tools/list`."""


class SessionPlan(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one session may see and read."""

    session: str
    recipe: str
    discipline: str | None = None
    feature: str | None = None
    task: str | None = None
    input: str = ""
    """What a person wants from the session, in their words."""

    tools: tuple[PlannedTool, ...]
    disabled: Mapping[str, str]
    """Every other tool, by its own name, and why the session lacks it."""

    prompt: Prompt
    upstreams: Mapping[str, Any] = {}
    """MCP servers of the discipline, in the format of `mcp.json`; none if their tools come through our server."""

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
        """Tokens of the prompt and the tools together."""
        return self.prompt.tokens + self.tool_tokens


class SessionSubject(NamedTuple):
    """The discipline, feature and task of a session."""

    discipline: Discipline | None = None
    feature: str | None = None
    task: Task | None = None


def subject(tx: Reader, discipline: str | None, feature: str | None, task: str | None) -> SessionSubject:
    """The subject with the given names. Discipline and feature are by default those of the task.

    Raises:
        NotFound: something with that name does not exist.
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
    """Computes what a session gets. The same input gives the same plan, to the byte."""
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
    """The tools of the recipe that the discipline may use, and for each other tool why not, by own name."""
    denied = discipline.denied_tools if discipline else ()
    rules: list[ToolRule] = []
    disabled: dict[str, str] = {}
    for rule in _allowed_rules(recipe, catalog):
        own = catalog.find(rule.name).spec.name
        if discipline and (word := matching(denied, names_of(rule.name, catalog))):
            disabled[own] = f"denied to the discipline {discipline.name} by {word!r}"
        else:
            rules.append(rule)
    there = {catalog.find(rule.name).spec.name for rule in rules}
    for spec in catalog:
        if spec.name not in there:
            disabled.setdefault(spec.name, _explain_missing(spec.name, recipe))
    return rules, dict(sorted(disabled.items()))


def _explain_missing(name: str, recipe: Recipe) -> str:
    if name in FINDERS and recipe.upstreams:
        return f"only there if the upstream tools do not fit into {recipe.tool_budget} tokens"
    return f"not in the recipe {recipe.name}"


def finders(recipe: Recipe, catalog: Catalog, about: SessionSubject) -> list[ExposedTool]:
    """The tools that find unlisted tools, as far as the discipline may use them."""
    denied = about.discipline.denied_tools if about.discipline else ()
    rules = [ToolRule(name=name) for name in FINDERS if not matching(denied, names_of(name, catalog))]
    return bind(recipe, rules, catalog, about)


def _allowed_rules(recipe: Recipe, catalog: Catalog) -> list[ToolRule]:
    """The rules of the recipe, and, if it has `upstreams`, rules for upstream tools and the project's scripts."""
    rules = expand_rules(recipe, catalog)
    named = {catalog.find(rule.name).spec.name for rule in rules}
    others = (spec.name for spec in catalog if spec.foreign is not None or spec.joins)
    return [*rules, *(ToolRule(name=name) for name in others if recipe.upstreams and name not in named)]


def bind(
    recipe: Recipe, rules: list[ToolRule], catalog: Catalog, about: SessionSubject, *, check: Check | None = None
) -> list[ExposedTool]:
    """The tools of a session with its limits. Their descriptions name no tool that the session lacks."""
    task = about.task.id if about.task else None
    feature = about.feature if recipe.keeps_to_feature else None
    status = recipe.created_status
    exposed = [expose(one, catalog, created_status=status, task=task, feature=feature, check=check) for one in rules]
    worded = partial(keep_known, names=shown_names(exposed), all_names=all_names(catalog))
    return [one._replace(worded=worded) for one in exposed]


def shown_names(exposed: Sequence[ExposedTool]) -> dict[str, str]:
    """The name of each tool in the session, by own name; the first one if it has several."""
    return {one.spec.name: one.name for one in reversed(exposed)}


def all_names(catalog: Catalog) -> frozenset[str]:
    """Every name of every tool."""
    return frozenset(name for spec in catalog for name in (spec.name, *(alias.name for alias in spec.aliases)))


def introduction(names: Mapping[str, str]) -> str:
    """The instructions of the server for a client, in sentences about tools that the session has."""
    return " ".join(["Binnacle keeps the work of this repository.", *worded(INTRODUCTION, names)])


INTRODUCTION: tuple[Step, ...] = (
    (
        "Take a task with {task_claim}.",
        "See which task is next with {task_next}, and finish it with {task_update}.",
        "See which task is next with {task_next}.",
    ),
    ("Read a task with {task_get}.", "List tasks with {task_list}."),
    ("Report the result with {report_done}.", "Finish a task with {task_status}."),
    ("{bn_run} runs any bn command; call {binnacle-set_agent} first.",),
    ("Find more tools with {tool_search} and call them with {tool_call}.", "Find more tools with {tool_search}."),
)


def digest(recipe: Recipe, entries: Sequence[bytes]) -> str:
    """A digest that changes whenever the tools, their limits or the recipe change."""
    from hashlib import sha256

    return sha256(b"\n".join([msgspec.json.encode(recipe), *entries])).hexdigest()[:16]
