"""Keeps a session from getting more rights than it began with.

A recipe is a file of the repository, which an agent can write. So a change of it takes rights from a session at once,
but gives none until a person plans the session again (`bn plan renew`, or a new session).
"""

from msgspec.structs import replace

from binnacle.plan.recipe import Recipe, Scope, ToolRule, expand_rules
from binnacle.tools.catalog import Catalog

_STRICTER: tuple[Scope, ...] = ("any", "near", "own")


def limits_of(recipe: Recipe) -> Recipe:
    """The rights in a recipe without its texts, saved as the most that a session may ever have."""
    return Recipe(
        name=recipe.name,
        description="",
        tools=recipe.tools,
        commands=recipe.commands,
        created_status=recipe.created_status,
        upstreams=recipe.upstreams,
    )


def narrow(recipe: Recipe, first: Recipe | None, catalog: Catalog) -> Recipe:
    """The recipe without any right that `first`, with which the session began, did not give."""
    if first is None:
        return recipe
    most = {_own_name(rule, catalog): rule for rule in expand_rules(first, catalog)}
    found = ((rule, most.get(_own_name(rule, catalog))) for rule in expand_rules(recipe, catalog))
    rules = (_combine(rule, limit) for rule, limit in found if limit is not None)
    return replace(
        recipe,
        tools=tuple(rule for rule in rules if rule is not None),
        commands=tuple(one for one in recipe.commands if one in first.commands or "*" in first.commands),
        created_status=first.created_status or recipe.created_status,
        upstreams=recipe.upstreams and first.upstreams,
    )


def _own_name(rule: ToolRule, catalog: Catalog) -> str:
    return catalog.find(rule.name).spec.name if rule.name in catalog else rule.name


def _combine(rule: ToolRule, limit: ToolRule) -> ToolRule | None:
    """The rule with the limits of both; None if they leave no parameter."""
    only = rule.only or limit.only
    if rule.only and limit.only:
        only = tuple(one for one in rule.only if one in limit.only)
        if not only:
            return None
    task = max(rule.task, limit.task, key=_STRICTER.index)
    return replace(rule, only=only, task=task)
