"""The plan of a session whose prompt is made from a template."""

from msgspec.structs import replace

from binnacle.app import Project
from binnacle.plan.context import load
from binnacle.plan.prompt import Prompt, Section
from binnacle.plan.recipe import Recipe
from binnacle.plan.session import SessionPlan
from binnacle.plan.tokens import count
from binnacle.runner.template import Template, Values, render
from binnacle.store.store import Reader
from binnacle.tools.catalog import Catalog


def with_template(
    tx: Reader,
    project: Project,
    catalog: Catalog,
    template: Template,
    recipe: Recipe,
    plan: SessionPlan,
    values: Values,
    *,
    extra: str = "",
) -> SessionPlan:
    """The same plan, with the prompt that a template makes of it.

    Raises:
        ConfigError: a variable of the template is not known.
    """
    loaded = load(
        tx,
        project.repo,
        discipline=plan.discipline,
        feature=plan.feature,
        task=plan.task,
        session=plan.session or None,
        user_input=plan.input,
        extra=extra,
        sections=template.sections,
    )
    names = {tool.tool: tool.name for tool in reversed(plan.tools)}
    text = render(template, recipe, loaded, names, values, tools=own_names(catalog)).rstrip("\n")
    return replace(plan, prompt=Prompt(sections=(Section(name="template", text=text, tokens=count(text)),)))


def own_names(catalog: Catalog) -> dict[str, str]:
    """Every name of every tool → its own."""
    return {name: spec.name for spec in catalog for name in (spec.name, *(alias.name for alias in spec.aliases))}
