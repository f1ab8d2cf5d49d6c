"""Reads recipes from their files, checks every name in them, and holds back what nobody has trusted."""

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
from binnacle.work.status import Status

BOX = os.path.join(os.path.dirname(__file__), "recipes")
TOOL_LIMIT = 40
"""Tools a recipe may name: more confuse more than they help."""

SAME = ("sections", "instead", "commands", "created_status", "keeps_to_feature", "upstreams", "budget", "tool_budget")
"""What a recipe takes over as it is written."""


class _Limits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    only: tuple[str, ...] = ()
    task: Scope = "any"


class _File(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A recipe as it is written. What is left out is taken from the recipe it extends."""

    description: str = ""
    extends: str | None = None
    without: tuple[str, ...] = ()
    tools: tuple[str | dict[str, _Limits], ...] = ()
    sections: tuple[str, ...] | UnsetType = UNSET
    instructions: tuple[str | tuple[str, ...], ...] | UnsetType = UNSET
    instead: dict[str, str] | UnsetType = UNSET
    commands: tuple[str, ...] | UnsetType = UNSET
    created_status: Status | UnsetType | None = UNSET
    keeps_to_feature: bool | UnsetType = UNSET
    upstreams: bool | UnsetType = UNSET
    budget: Annotated[int, Meta(ge=500, le=200_000)] | UnsetType = UNSET
    tool_budget: Annotated[int, Meta(ge=500, le=1_000_000)] | UnsetType = UNSET


def recipe_files(repo: str | None) -> dict[str, str]:
    """Every recipe there is, by name, with its file. A project's own come before those in the box."""
    found = _recipes_in(BOX, sorted(os.listdir(BOX)))
    if repo:
        folder = os.path.join(repo, PROJECT_DIR, "recipes")
        with suppress(OSError):  # it is no folder of the repository
            found |= _recipes_in(folder, list_inside(repo, folder))
    return found


def _recipes_in(folder: str, names: list[str]) -> dict[str, str]:
    return {name[:-5]: os.path.join(folder, name) for name in names if name.endswith(".yaml")}


def load_recipe(name: str, catalog: Catalog, *, repo: str | None = None) -> Recipe:
    """The recipe called `name`, checked against the tools there are.

    One of the project gives nothing more until a person has trusted it: in the place of one in the box only what that
    has, and no commands beyond its tools.

    Raises:
        NotFound: no such recipe; the nearest is named.
        ConfigError: something in its file is wrong: where, what, and the nearest valid word.
    """
    find_recipe_file(name, repo)
    return _load(name, _Shelf(recipe_files(repo), catalog, repo), ())


def find_recipe_file(name: str, repo: str | None) -> str:
    """The file of a recipe.

    Raises:
        NotFound: no such recipe; the nearest is named.
    """
    files = recipe_files(repo)
    if name not in files:
        raise NotFound(f"no recipe {name!r}", hint=did_you_mean(name, list(files)))
    return files[name]


class _Shelf(NamedTuple):
    """Where recipes are found by their names, and the tools that they are checked against."""

    files: Mapping[str, str]
    catalog: Catalog
    repo: str | None


def _load(name: str, shelf: _Shelf, below: tuple[str, ...]) -> Recipe:
    """A recipe, without what nobody has trusted; the same holds for those that it extends."""
    made, path = _make(name, shelf, below), shelf.files[name]
    if shelf.repo is None or os.path.dirname(path) == BOX:
        return made
    held = _hold_back(made, shelf.catalog)
    return made if held == made or is_trusted(shelf.repo, _item(name, path)) else held


def _hold_back(recipe: Recipe, catalog: Catalog) -> Recipe:
    """What is left of a project's recipe while nobody has trusted it."""
    box = _recipes_in(BOX, sorted(os.listdir(BOX)))
    if recipe.name in box:
        return narrow(recipe, _make(recipe.name, _Shelf(box, catalog, None), ()), catalog)
    return msgspec.structs.replace(recipe, commands=())


def find_items(repo: str, catalog: Catalog) -> list[TrustItem]:
    """The recipes of a project that give more than they may untrusted, as a person sees them before trusting them."""
    found = []
    shelf = _Shelf(recipe_files(repo), catalog, repo)
    for name, path in shelf.files.items():
        if os.path.dirname(path) != BOX:
            with suppress(ConfigError):
                made = _make(name, shelf, ())
                found += [_item(name, path)] if _hold_back(made, catalog) != made else []
    return found


def _item(name: str, path: str) -> TrustItem:
    does = "let its sessions do more than the recipe of that name in the box, or run commands beyond its tools"
    content = read_file(path).decode("utf-8", "replace")
    return TrustItem(kind="recipe", name=name, place=path, does=does, content=content)


def _make(name: str, shelf: _Shelf, below: tuple[str, ...]) -> Recipe:
    """A recipe as its file has it."""
    catalog = shelf.catalog
    written, lines = load(shelf.files[name], _File)
    base = Recipe(name=name, description="", tools=())
    if (parent := written.extends) is not None:
        base = _base(parent, name, shelf, lines, below)
    _check_words(written, base, lines, catalog)
    given = {
        key: value for key in SAME
        if (value := getattr(written, key)) is not UNSET
    }  # fmt: skip
    if written.instructions is not UNSET:
        given["instructions"] = tuple(_in_own_names(one, catalog) for one in written.instructions)
    made = msgspec.structs.replace(
        base,
        name=name,
        description=written.description or base.description,
        tools=_tools(written, base, catalog),
        **given,
    )
    if (number := len(expand_rules(made, catalog))) > TOOL_LIMIT:
        raise ConfigError(
            f"{lines.at('tools')}: {number} tools; a recipe has at most {TOOL_LIMIT}",
            hint="leave out what the session can do without",
        )
    return made


def _tools(written: _File, base: Recipe, catalog: Catalog) -> tuple[ToolRule, ...]:
    """Those of the base that were not taken away or given again, and the recipe's own."""
    own = {rule.name: rule for rule in map(_rule, written.tools)}
    kept = (rule for rule in base.tools if not _is_named(rule.name, written.without, catalog))
    return (*(rule for rule in kept if rule.name not in own), *own.values())


def _base(parent: str, name: str, shelf: _Shelf, lines: YamlLines, below: tuple[str, ...]) -> Recipe:
    chain, files = (*below, name), shelf.files
    if parent == name and files[name] != (boxed := os.path.join(BOX, f"{name}.yaml")) and os.path.exists(boxed):
        # A project's recipe that extends the one in the box it stands in front of.
        return _load(name, shelf._replace(files={**files, name: boxed}), chain)
    if parent in chain:
        raise ConfigError(f"{lines.at('extends')}: a circle: {' → '.join((*chain, parent))}", hint="extend another one")
    if parent not in files:
        raise ConfigError(f"{lines.at('extends')}: no recipe {parent!r}", hint=did_you_mean(parent, list(files)))
    return _load(parent, shelf, chain)


def _rule(one: str | Mapping[str, _Limits]) -> ToolRule:
    if isinstance(one, str):
        return ToolRule(name=one)
    ((name, limits),) = one.items()
    return ToolRule(name=name, only=limits.only, task=limits.task)


def _check_words(written: _File, base: Recipe, lines: YamlLines, catalog: Catalog) -> None:
    """Checks every word that names something else."""
    for index, one in enumerate(written.tools):
        place = lines.at("tools", index)
        if not isinstance(one, str) and len(one) != 1:
            raise ConfigError(f"{place}: one tool an entry", hint="- update_task: {only: [priority]}")
        rule = _rule(one)
        for name in matched_names(rule, catalog):
            _check_rule(rule, _find(name, catalog, place), place)
    for index, name in enumerate(written.without):
        if not any(_is_named(rule.name, (name,), catalog) for rule in base.tools):
            hint = did_you_mean(name, [rule.name for rule in base.tools]) or "'extends' says where from"
            raise ConfigError(f"{lines.at('without', index)}: {name!r} is not in what it extends", hint=hint)
    for index, name in enumerate(written.commands or ()):
        if "*" not in name and name not in COMMANDS:
            _find(name, catalog, lines.at("commands", index))
    for index, name in enumerate(written.sections or ()):
        if name not in SECTIONS:
            raise ConfigError(
                f"{lines.at('sections', index)}: no section {name!r}", hint=did_you_mean(name, list(SECTIONS))
            )
    _check_names(written, lines, catalog)


def _check_names(written: _File, lines: YamlLines, catalog: Catalog) -> None:
    for name, other in (written.instead or {}).items():
        for word in (name, other):
            _find(word, catalog, lines.at("instead", name))
    for index, step in enumerate(written.instructions or ()):
        for wording in (step,) if isinstance(step, str) else step:
            _check_wording(wording, lines.at("instructions", index), catalog)


def _check_wording(wording: str, place: str, catalog: Catalog) -> None:
    """Every tool must be named in braces: only then does the step go where the tool is not."""
    for word in sorted(tools_in((wording,))):
        _find(word, catalog, place)
    for word in bare_names(wording):
        if word in catalog:
            raise ConfigError(f"{place}: {word} is a tool", hint=f"write {{{word}}}, so that the step goes with it")


def _in_own_names(step: str | Step, catalog: Catalog) -> Step:
    """The wordings of a step, with every tool under its own name."""
    wordings = (step,) if isinstance(step, str) else step
    names = {word: catalog.find(word).spec.name for word in sorted(tools_in(wordings))}
    for word, own in names.items():
        wordings = tuple(one.replace(f"{{{word}}}", f"{{{own}}}") for one in wordings)
    return wordings


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
