"""Reads recipes from their files, checks every name in them, and withholds rights that no person has trusted."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, NamedTuple

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from binnacle.config.directories import PROJECT_DIR
from binnacle.config.repository_files import list_inside, read_file
from binnacle.config.trust import TrustItem, is_trusted
from binnacle.config.yaml_file import YamlLines, load
from binnacle.errors import ConfigError, NotFound, did_you_mean
from binnacle.plan.recipe import (
    Recipe,
    RecipeStep,
    Scope,
    ToolRule,
    expand_rules,
    matched_names,
    matching,
    names_of,
    task_parameter,
)
from binnacle.plan.recipe_limits import narrow
from binnacle.plan.sections import SECTIONS
from binnacle.plan.tool_mentions import Step, bare_names, tools_in
from binnacle.tools.catalog import Catalog, FoundTool
from binnacle.tools.command_rights import COMMANDS
from binnacle.tools.json_schema import input_schema
from binnacle.work import steps
from binnacle.work.recipe_names import RECIPE_ALIASES, recipe_name
from binnacle.work.status import Status

BUILT_IN_DIR = os.path.join(os.path.dirname(__file__), "recipes")
MAX_RECIPE_TOOLS = 40
"""Most tools of a recipe: more confuse agents more than they help."""

COPIED_FIELDS = (
    "sections",
    "instead",
    "commands",
    "created_status",
    "keeps_to_feature",
    "upstreams",
    "budget",
    "tool_budget",
)
"""Fields that are copied from the file unchanged."""


class _Limits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    only: tuple[str, ...] = ()
    task: Scope = "any"


class _Step(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    say: str | tuple[str, ...]
    when: str = ""
    unless: str = ""


class _File(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A recipe in its file. Fields that are left out come from the recipe it extends."""

    description: str = ""
    extends: str | None = None
    without: tuple[str, ...] = ()
    tools: tuple[str | dict[str, _Limits], ...] = ()
    sections: tuple[str, ...] | UnsetType = UNSET
    instructions: tuple[str | tuple[str, ...] | _Step, ...] | UnsetType = UNSET
    instead: dict[str, str] | UnsetType = UNSET
    commands: tuple[str, ...] | UnsetType = UNSET
    created_status: Status | UnsetType | None = UNSET
    keeps_to_feature: bool | UnsetType = UNSET
    upstreams: bool | UnsetType = UNSET
    budget: Annotated[int, Meta(ge=500, le=200_000)] | UnsetType = UNSET
    tool_budget: Annotated[int, Meta(ge=500, le=1_000_000)] | UnsetType = UNSET


def recipe_files(repo: str | None) -> dict[str, str]:
    """The files of all recipes, by their own names. A project's replace built-in ones, also under another name."""
    found = _recipes_in(BUILT_IN_DIR, sorted(os.listdir(BUILT_IN_DIR)))
    if repo:
        folder = os.path.join(repo, PROJECT_DIR, "recipes")
        with suppress(OSError):  # it is not a folder of the repository
            found |= _recipes_in(folder, list_inside(repo, folder))
    return found


def _recipes_in(folder: str, names: list[str]) -> dict[str, str]:
    written = {name[:-5]: os.path.join(folder, name) for name in names if name.endswith(".yaml")}
    # A file under the recipe's own name wins over one under another name.
    return {recipe_name(name): written.get(recipe_name(name), path) for name, path in written.items()}


def load_recipe(name: str, catalog: Catalog, *, repo: str | None = None) -> Recipe:
    """The recipe called `name`, its own or another, checked against the existing tools.

    Until a person has trusted a recipe of the project, it gives no more than the built-in one of the same name, or, if
    there is none, no commands beyond its tools.

    Raises:
        NotFound: there is no such recipe; the error names the nearest.
        ConfigError: its file is wrong; the error names the line, the problem and the nearest valid word.
    """
    find_recipe_file(name, repo)
    return _load(recipe_name(name), _Lookup(recipe_files(repo), catalog, repo), ())


def find_recipe_file(name: str, repo: str | None) -> str:
    """The file of a recipe.

    Raises:
        NotFound: there is no such recipe; the error names the nearest.
    """
    files = recipe_files(repo)
    if recipe_name(name) not in files:
        raise NotFound(f"no recipe {name!r}", hint=did_you_mean(name, [*files, *RECIPE_ALIASES]))
    return files[recipe_name(name)]


class _Lookup(NamedTuple):
    """The files of recipes by name, and the tools that recipes are checked against."""

    files: Mapping[str, str]
    catalog: Catalog
    repo: str | None


def _load(name: str, lookup: _Lookup, below: tuple[str, ...]) -> Recipe:
    """A recipe without rights that no person has trusted, in it or in recipes it extends."""
    made, path = _make(name, lookup, below), lookup.files[name]
    if lookup.repo is None or os.path.dirname(path) == BUILT_IN_DIR:
        return made
    held = _hold_back(made, lookup.catalog)
    return made if held == made or is_trusted(lookup.repo, _trust_item(path)) else held


def _hold_back(recipe: Recipe, catalog: Catalog) -> Recipe:
    """What a recipe of the project gives until a person has trusted it."""
    built_in = _recipes_in(BUILT_IN_DIR, sorted(os.listdir(BUILT_IN_DIR)))
    if recipe.name in built_in:
        return narrow(recipe, _make(recipe.name, _Lookup(built_in, catalog, None), ()), catalog)
    return msgspec.structs.replace(recipe, commands=())


def find_items(repo: str, catalog: Catalog) -> list[TrustItem]:
    """The recipes of a project that need trust, as a person sees them before trusting them."""
    found = []
    lookup = _Lookup(recipe_files(repo), catalog, repo)
    for name, path in lookup.files.items():
        if os.path.dirname(path) != BUILT_IN_DIR:
            with suppress(ConfigError):
                made = _make(name, lookup, ())
                found += [_trust_item(path)] if _hold_back(made, catalog) != made else []
    return found


def _trust_item(path: str) -> TrustItem:
    name = os.path.basename(path).removesuffix(".yaml")
    does = "let its sessions do more than the built-in recipe of that name, or run commands beyond its tools"
    content = read_file(path).decode("utf-8", "replace")
    return TrustItem(kind="recipe", name=name, place=path, does=does, content=content)


def _make(name: str, lookup: _Lookup, below: tuple[str, ...]) -> Recipe:
    """A recipe exactly as its file says."""
    catalog = lookup.catalog
    written, lines = load(lookup.files[name], _File)
    base = Recipe(name=name, description="", tools=())
    if written.extends is not None:
        base = _load_base(recipe_name(written.extends), name, lookup, lines, below)
    _check_words(written, base, lines, catalog)
    given = {
        key: value for key in COPIED_FIELDS
        if (value := getattr(written, key)) is not UNSET
    }  # fmt: skip
    if written.instructions is not UNSET:
        given["instructions"] = tuple(_parse_step(one, catalog) for one in written.instructions)
    made = msgspec.structs.replace(
        base,
        name=name,
        description=written.description or base.description,
        tools=_combine_tools(written, base, catalog),
        **given,
    )
    if (number := len(expand_rules(made, catalog))) > MAX_RECIPE_TOOLS:
        raise ConfigError(
            f"{lines.at('tools')}: {number} tools; a recipe has at most {MAX_RECIPE_TOOLS}",
            hint="leave out tools that the session does not need",
        )
    return made


def _combine_tools(written: _File, base: Recipe, catalog: Catalog) -> tuple[ToolRule, ...]:
    """The rules of the base that the recipe neither removes nor replaces, and its own."""
    own = {rule.name: rule for rule in map(_parse_rule, written.tools)}
    kept = (rule for rule in base.tools if not _is_named(rule.name, written.without, catalog))
    return (*(rule for rule in kept if rule.name not in own), *own.values())


def _load_base(parent: str, name: str, lookup: _Lookup, lines: YamlLines, below: tuple[str, ...]) -> Recipe:
    chain, files = (*below, name), lookup.files
    if (
        parent == name
        and files[name] != (built_in := os.path.join(BUILT_IN_DIR, f"{name}.yaml"))
        and os.path.exists(built_in)
    ):
        # A recipe of the project may extend the built-in one that it replaces.
        return _load(name, lookup._replace(files={**files, name: built_in}), chain)
    if parent in chain:
        raise ConfigError(f"{lines.at('extends')}: a cycle: {' → '.join((*chain, parent))}", hint="extend another one")
    if parent not in files:
        raise ConfigError(
            f"{lines.at('extends')}: no recipe {parent!r}", hint=did_you_mean(parent, [*files, *RECIPE_ALIASES])
        )
    return _load(parent, lookup, chain)


def _parse_rule(one: str | Mapping[str, _Limits]) -> ToolRule:
    if isinstance(one, str):
        return ToolRule(name=one)
    ((name, limits),) = one.items()
    return ToolRule(name=name, only=limits.only, task=limits.task)


def _check_words(written: _File, base: Recipe, lines: YamlLines, catalog: Catalog) -> None:
    """Checks every word that names a tool, parameter or section."""
    for index, one in enumerate(written.tools):
        place = lines.at("tools", index)
        if not isinstance(one, str) and len(one) != 1:
            raise ConfigError(f"{place}: an entry must name one tool", hint="- update_task: {only: [priority]}")
        rule = _parse_rule(one)
        for name in matched_names(rule, catalog):
            _check_rule(rule, _find(name, catalog, place), place)
    for index, name in enumerate(written.without):
        if not any(_is_named(rule.name, (name,), catalog) for rule in base.tools):
            hint = did_you_mean(name, [rule.name for rule in base.tools]) or "'extends' names the recipe it comes from"
            raise ConfigError(f"{lines.at('without', index)}: {name!r} is not in the recipe it extends", hint=hint)
    for index, name in enumerate(written.commands or ()):
        if "*" not in name and name not in COMMANDS:
            _find(name, catalog, lines.at("commands", index))
    for index, name in enumerate(written.sections or ()):
        _check_section(name, lines.at("sections", index))
    _check_names(written, lines, catalog)


def _check_section(name: str, place: str) -> None:
    if name not in SECTIONS:
        raise ConfigError(f"{place}: no section {name!r}", hint=did_you_mean(name, list(SECTIONS)))


def _check_names(written: _File, lines: YamlLines, catalog: Catalog) -> None:
    for name, other in (written.instead or {}).items():
        for word in (name, other):
            _find(word, catalog, lines.at("instead", name))
    for index, step in enumerate(written.instructions or ()):
        place = lines.at("instructions", index)
        for section in (step.when, step.unless) if isinstance(step, _Step) else ():
            if section:
                _check_section(section, place)
        for wording in _wordings_of(step):
            _check_wording(wording, place, catalog)


def _check_wording(wording: str, place: str, catalog: Catalog) -> None:
    """Checks that every tool is named in braces: otherwise the step would be shown without the tool."""
    for word in sorted(tools_in((wording,))):
        _find(word, catalog, place)
    for word in bare_names(wording):
        if word in catalog:
            raise ConfigError(
                f"{place}: {word} is a tool", hint=f"write {{{word}}}, so that the step is left out without the tool"
            )


def _wordings_of(step: str | Step | _Step) -> Step:
    said = step.say if isinstance(step, _Step) else step
    return (said,) if isinstance(said, str) else said


def _parse_step(step: str | Step | _Step, catalog: Catalog) -> RecipeStep:
    """A step, with every tool under its own name."""
    wordings = _wordings_of(step)
    names = {word: catalog.find(word).spec.name for word in sorted(tools_in(wordings))}
    for word, own in names.items():
        wordings = tuple(one.replace(f"{{{word}}}", f"{{{own}}}") for one in wordings)
    if isinstance(step, _Step):
        return RecipeStep(wordings=wordings, when=step.when, unless=step.unless)
    return RecipeStep(wordings=wordings)


def _check_rule(rule: ToolRule, found: FoundTool, place: str) -> None:
    known = input_schema(found.spec, found.alias)["properties"]
    for parameter in rule.only:
        if parameter not in known:
            hint = did_you_mean(parameter, list(known)) or steps.show_schema(found.spec.name)
            raise ConfigError(f"{place}: {rule.name} has no parameter {parameter!r}", hint=hint)
    if rule.task != "any" and task_parameter(found.spec) is None:
        raise ConfigError(f"{place}: {rule.name} is not about one task", hint="leave out 'task'")


def _find(name: str, catalog: Catalog, place: str) -> FoundTool:
    try:
        return catalog.find(name)
    except NotFound as error:
        raise ConfigError(f"{place}: {error.message}", hint=error.next_steps) from error


def _is_named(name: str, words: Sequence[str], catalog: Catalog) -> bool:
    return matching(words, names_of(name, catalog)) is not None
