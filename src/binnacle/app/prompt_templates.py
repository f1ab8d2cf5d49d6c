"""Prompts made from templates, for the sessions of a project."""

from msgspec.structs import replace

from binnacle.plan.prompt import Prompt, Section
from binnacle.plan.prompt_data import RunSituation, load
from binnacle.plan.recipe import Recipe
from binnacle.plan.session_plan import SessionPlan
from binnacle.plan.token_count import count
from binnacle.project.project import Project
from binnacle.project.tool_catalog import catalog_of
from binnacle.runner.prompt_template import (
    PromptTemplate,
    TemplateValues,
    check_template,
    find_template,
    render_template,
)
from binnacle.store.transaction import Reader
from binnacle.tools.catalog import Catalog


def read_template(project: Project, file: str | None = None) -> PromptTemplate:
    """The named template, else the project's, else ours, with its variables checked.

    Raises:
        ConfigError: it cannot be read, or has an unknown variable.
    """
    template = find_template(project.repo, file)
    check_template(template, own_names(catalog_of(project)).keys())
    return template


def with_template(
    tx: Reader,
    project: Project,
    catalog: Catalog,
    template: PromptTemplate,
    recipe: Recipe,
    plan: SessionPlan,
    values: TemplateValues,
    *,
    extra: str = "",
    run: RunSituation | None = None,
) -> SessionPlan:
    """The plan with the prompt that a template makes.

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
        run=run,
        sections=template.sections,
    )
    names = {tool.tool: tool.name for tool in reversed(plan.tools)}
    text = render_template(template, recipe, loaded, names, values, tools=own_names(catalog)).rstrip("\n")
    return replace(plan, prompt=Prompt(sections=(Section(name="template", text=text, tokens=count(text)),)))


def own_names(catalog: Catalog) -> dict[str, str]:
    """Every name of every tool → its own."""
    return {name: spec.name for spec in catalog for name in (spec.name, *(alias.name for alias in spec.aliases))}
