"""Which recipe has which tool, and why a session has or lacks one. Uses the functions that make plans."""

from collections.abc import Sequence

from msgspec import Struct

from binnacle.plan.recipe import Recipe
from binnacle.plan.recipe_loader import load_recipe, recipe_files
from binnacle.plan.session_plan import choose
from binnacle.tools.catalog import Catalog
from binnacle.work.feature import Discipline
from binnacle.work.recipe_names import aliases_of


class ComparedRecipe(Struct, frozen=True, omit_defaults=True):
    """The tools of a recipe: those it has without limits, and the others."""

    name: str
    aliases: list[str]
    """Its names in the seeds, which are accepted too."""

    description: str
    plain: list[str]
    limited: list[str]


class ToolInRecipe(Struct, frozen=True, omit_defaults=True):
    """Whether a recipe has a tool, and why."""

    recipe: str
    enabled: bool
    why: str


class ToolExplanation(Struct, frozen=True, omit_defaults=True):
    """A tool and the recipes that have it."""

    tool: str
    description: str
    names: list[str]
    recipes: list[ToolInRecipe]


def load_recipes(catalog: Catalog, *, repo: str, only: str | None = None) -> list[Recipe]:
    """Every recipe of a project, or the one that is named."""
    return [load_recipe(name, catalog, repo=repo) for name in ([only] if only else recipe_files(repo))]


def compare_recipes(catalog: Catalog, recipes: Sequence[Recipe], discipline: Discipline | None) -> list[ComparedRecipe]:
    """The tools of each recipe, as far as the discipline may use them."""
    rows = []
    for recipe in recipes:
        rules, _ = choose(recipe, catalog, discipline)
        limited = {catalog.find(rule.name).spec.name for rule in rules if rule.only or rule.task != "any"}
        there = [catalog.find(rule.name).spec.name for rule in rules]
        plain = [name for name in dict.fromkeys(there) if name not in limited]
        rows.append(
            ComparedRecipe(
                name=recipe.name,
                aliases=aliases_of(recipe.name),
                description=recipe.description,
                plain=plain,
                limited=sorted(limited),
            )
        )
    return rows


def explain_tool(
    tool: str, catalog: Catalog, recipes: Sequence[Recipe], discipline: Discipline | None
) -> ToolExplanation:
    """Why a session of each recipe has or lacks a tool, which is found by any of its names."""
    spec = catalog.find(tool).spec
    rows = []
    for recipe in recipes:
        rules, disabled = choose(recipe, catalog, discipline)
        names = [rule.name for rule in rules if catalog.find(rule.name).spec is spec]
        why = f"as {', '.join(names)}" if names else disabled[spec.name]
        others = [catalog.find(o).spec for name, o in recipe.instead.items() if catalog.find(name).spec is spec]
        instead = [] if names else [rule.name for rule in rules if catalog.find(rule.name).spec in others]
        why += f"; use {instead[0]} instead" if instead else ""
        rows.append(ToolInRecipe(recipe=recipe.name, enabled=bool(names), why=why))
    return ToolExplanation(
        tool=spec.name, description=spec.description, names=[alias.name for alias in spec.aliases], recipes=rows
    )
