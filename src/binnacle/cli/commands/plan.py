"""`bn plan`: what a session may see, and why."""

from argparse import Namespace
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from binnacle.cli.command import READS, CommandAnswer, Group, arg, by_person
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen
from binnacle.errors import Refused
from binnacle.store import sessions
from binnacle.work.session import SessionTerms

if TYPE_CHECKING:
    from binnacle.plan.recipe_comparison import ComparedRecipe, ToolExplanation
    from binnacle.plan.session_plan import PlannedTool, SessionPlan
    from binnacle.sessions.planning import PlanWithRecipe

PLAN = Group("plan")

SUBJECT = (
    arg("--discipline", completes="discipline", help="who works in it"),
    arg("--feature", completes="feature", help="the feature it is about"),
    arg("--task", completes="task", help="the task it is about; brings its feature and discipline"),
)
RECIPE = arg("recipe", nargs="?", completes="recipe", help="its name; without it, compares all of them")


class PlanTokens(CommandAnswer):
    """What a session costs before its first word."""

    prompt: int
    tools: int
    total: int


class ToolBudget(CommandAnswer):
    """Tokens for listing the tools of upstream servers."""

    tokens: int
    left: int


class PlanAnswer(CommandAnswer, kw_only=True):
    """The tools of a session, what they cost, and which are missing."""

    recipe: str
    discipline: str | None = None
    feature: str | None = None
    task: str | None = None
    tools: "tuple[PlannedTool, ...]"
    disabled: Mapping[str, str]
    tokens: PlanTokens
    upstreams: Mapping[str, Any] | None = None
    tool_budget: ToolBudget | None = None
    catalog: str


class RecipesAnswer(CommandAnswer):
    """Every recipe, and every tool there is."""

    recipes: "list[ComparedRecipe]"
    tools: list[str]


class RecipeDiffAnswer(CommandAnswer):
    """What one recipe has and another has not."""

    recipes: tuple[str, str]
    only: dict[str, list[str]]
    """By recipe."""

    limits: list[dict[str, str]]
    """Tools that both have within different limits: `tool`, and by recipe the limits."""


class RenewedPlanAnswer(CommandAnswer):
    """The files of a session that were written."""

    session: str
    context: str
    prompt: str
    config: str


def make_session_plan(context: Context, args: Namespace, *, recipe: str, said: str = "") -> "SessionPlan":
    """The plan of a session on what the arguments name."""
    return _make(context, args, recipe=recipe, said=said).plan


def _make(context: Context, args: Namespace, *, recipe: str, said: str = "") -> "PlanWithRecipe":
    from binnacle.project.tool_catalog import catalog_of
    from binnacle.sessions.planning import make_plan

    terms = SessionTerms(recipe, args.discipline, args.feature, args.task)
    with context.reading() as tx:
        return make_plan(tx, context.project, catalog_of(context.project), terms, said=said)


def _show(answer: PlanAnswer | RecipesAnswer, screen: Screen) -> None:
    if isinstance(answer, RecipesAnswer):
        _show_matrix(answer, screen)
        return
    screen.heading(f"{answer.recipe}: {len(answer.tools)} tools, about {answer.tokens.total} tokens")
    rows = [(one.name, one.tool, _limits(one), str(one.tokens)) for one in answer.tools]
    screen.table(rows, flexible=2, headings=("NAME", "TOOL", "LIMITS", "TOKENS"))
    cost = answer.tokens
    screen.line(f"prompt {cost.prompt} + tools {cost.tools} = {cost.total} tokens before the first word")
    if budget := answer.tool_budget:
        screen.line(f"upstream tools are added: {budget.left} tokens of them are listed, tool_search finds the rest")
    denied = {name: why for name, why in answer.disabled.items() if why.startswith("denied")}
    for name, why in denied.items():
        screen.line(f"{screen.styled('without', 'yellow')} {name}: {why}")


def _limits(tool: "PlannedTool") -> str:
    scopes = {"own": "its own task", "near": "its task, feature and dependents"}
    parts = [f"only {', '.join(tool.only)}"] if tool.only else []
    return "; ".join([*parts, *([scopes[tool.task]] if tool.task != "any" else [])])


def _show_matrix(answer: RecipesAnswer, screen: Screen) -> None:
    recipes = answer.recipes
    numbers = [str(number) for number in range(1, len(recipes) + 1)]
    named = [
        (number, one.name, one.description + "".join(f" (also called {alias})" for alias in one.aliases))
        for number, one in zip(numbers, recipes, strict=True)
    ]
    screen.table(named, flexible=2)
    screen.line()
    rows = []
    for tool in answer.tools:
        marks = ["•" if tool in one.plain else "◦" if tool in one.limited else "" for one in recipes]
        rows.append((tool, *marks))
    rows.append(("tools", *(str(len(one.plain) + len(one.limited)) for one in recipes)))
    screen.table(rows, flexible=0, headings=("TOOL", *numbers))
    screen.line("• has it   ◦ has it within limits; see one with: bn plan show RECIPE")


@PLAN.command(
    "show",
    "the tools of a session, what they cost, and which are missing",
    "bn plan show task --task bn-1f3a",
    RECIPE,
    *SUBJECT,
    view=_show,
    needs=READS,
)
def show(context: Context, args: Namespace) -> PlanAnswer | RecipesAnswer:
    if args.recipe is None:
        return _matrix(context)
    recipe, plan = _make(context, args, recipe=args.recipe)
    budget = ToolBudget(tokens=recipe.tool_budget, left=max(0, recipe.tool_budget - plan.tool_tokens))
    return PlanAnswer(
        recipe=plan.recipe,
        discipline=plan.discipline or None,
        feature=plan.feature or None,
        task=plan.task or None,
        tools=plan.tools,
        disabled=plan.disabled,
        tokens=tokens_of(plan),
        upstreams=plan.upstreams or None,
        tool_budget=budget if recipe.upstreams else None,
        catalog=plan.catalog,
    )


def tokens_of(plan: "SessionPlan") -> PlanTokens:
    """What a session with this plan costs."""
    return PlanTokens(prompt=plan.prompt.tokens, tools=plan.tool_tokens, total=plan.tokens)


def _matrix(context: Context) -> RecipesAnswer:
    from binnacle.plan.recipe_comparison import compare_recipes, load_recipes
    from binnacle.project.tool_catalog import catalog_of

    catalog = catalog_of(context.project)
    rows = compare_recipes(catalog, load_recipes(catalog, repo=context.project.repo), None)
    return RecipesAnswer(recipes=rows, tools=[spec.name for spec in catalog])


def _show_diff(answer: RecipeDiffAnswer, screen: Screen) -> None:
    first, second = answer.recipes
    for name, sign, style in ((first, "-", "red"), (second, "+", "green")):
        for tool in answer.only[name]:
            screen.line(screen.styled(f"{sign} {tool}", style))
    for one in answer.limits:
        screen.line(f"~ {one['tool']}: {one[first] or 'no limits'} → {one[second] or 'no limits'}")
    if not any((*answer.only.values(), answer.limits)):
        screen.line("the same tools within the same limits")


@PLAN.command(
    "diff",
    "what one recipe has and another lacks",
    "bn plan diff chat review",
    arg("first", completes="recipe", help="a recipe"),
    arg("second", completes="recipe", help="another"),
    *SUBJECT,
    view=_show_diff,
    needs=READS,
)
def diff(context: Context, args: Namespace) -> RecipeDiffAnswer:
    plans = [make_session_plan(context, args, recipe=name) for name in (args.first, args.second)]
    there = [{tool.tool: _limits(tool) for tool in plan.tools} for plan in plans]
    limits = [
        {"tool": tool, args.first: there[0][tool], args.second: there[1][tool]}
        for tool in there[0]
        if tool in there[1] and there[0][tool] != there[1][tool]
    ]
    only = {
        args.first: [tool for tool in there[0] if tool not in there[1]],
        args.second: [tool for tool in there[1] if tool not in there[0]],
    }
    return RecipeDiffAnswer(recipes=(args.first, args.second), only=only, limits=limits)


def _show_explanation(answer: "ToolExplanation", screen: Screen) -> None:
    screen.heading(f"{answer.tool}  {answer.description}")
    if answer.names:
        screen.line(f"also called: {', '.join(answer.names)}")
    rows = [(one.recipe, "yes" if one.enabled else "no", one.why) for one in answer.recipes]
    screen.table(rows, flexible=2, headings=("RECIPE", "THERE", "WHY"))


@PLAN.command(
    "explain",
    "why a session has or lacks a tool",
    "bn plan explain task_delete --discipline testing",
    arg("tool", help="by any of its names"),
    arg("--recipe", completes="recipe", help="in this recipe only"),
    *SUBJECT,
    view=_show_explanation,
    needs=READS,
)
def explain(context: Context, args: Namespace) -> "ToolExplanation":
    from binnacle.plan.recipe_comparison import explain_tool, load_recipes
    from binnacle.plan.session_plan import subject
    from binnacle.project.tool_catalog import catalog_of

    catalog = catalog_of(context.project)
    recipes = load_recipes(catalog, repo=context.project.repo, only=args.recipe)
    with context.reading() as tx:
        who = subject(tx, args.discipline, args.feature, args.task).discipline
    return explain_tool(args.tool, catalog, recipes, who)


def _show_renewed(answer: RenewedPlanAnswer, screen: Screen) -> None:
    for path in (answer.context, answer.prompt, answer.config):
        screen.line(f"written: {path}")


@PLAN.command(
    "renew",
    "write the files of a session again, from its current recipe and subject",
    "bn plan renew bns-1f3a",
    arg("session", help="its id"),
    view=_show_renewed,
    needs=by_person("plan a session again"),
)
def renew(context: Context, args: Namespace) -> RenewedPlanAnswer:
    from contextlib import suppress

    from binnacle.project.tool_catalog import catalog_of
    from binnacle.sessions.planning import keep_plan, kept_input, make_plan, terms_of

    project, said = context.project, ""
    with context.reading() as tx:
        session = sessions.get(tx, args.session)
        with suppress(Refused):  # files that were edited are what this command is for
            said = kept_input(project, session.id)
        made = make_plan(tx, project, catalog_of(project), terms_of(session), session=session.id, said=said)
    return RenewedPlanAnswer(session=session.id, **keep_plan(project, made.plan)._asdict())
