"""Recipes: what a kind of session gets. Written as data, checked when they are loaded."""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from binnacle.config.directories import PROJECT_DIR
from binnacle.config.repository_files import list_inside, read_file
from binnacle.config.trust import TrustItem, is_trusted
from binnacle.config.yaml_file import YamlLines, load
from binnacle.errors import ConfigError, NotFound, did_you_mean
from binnacle.plan.sections import SECTIONS
from binnacle.plan.tool_mentions import Step, bare_names, tools_in
from binnacle.tools.catalog import Catalog, FoundTool
from binnacle.tools.command_rights import COMMANDS
from binnacle.tools.json_schema import input_schema
from binnacle.tools.tool_spec import ToolSpec
from binnacle.work import steps
from binnacle.work.status import Status

BOX = os.path.join(os.path.dirname(__file__), "recipes")
TOOL_LIMIT = 40
"""Tools a recipe may name: more confuse more than they help."""

SAME = ("sections", "instead", "commands", "created_status", "keeps_to_feature", "upstreams", "budget", "tool_budget")
"""What a recipe takes over as it is written."""

Scope = Literal["any", "own", "near"]
"""Which tasks a tool may be used on: any, the session's own, or also those of its feature and its dependents."""


class ToolRule(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool that a recipe allows, and within which limits."""

    name: str
    """As the session sees it: the tool's own name or an alias; a pattern may match any number of tools."""

    only: tuple[str, ...] = ()
    """The optional parameters it takes; all of them when empty."""

    task: Scope = "any"


class Recipe(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a kind of session gets."""

    name: str
    description: str
    tools: tuple[ToolRule, ...]
    sections: tuple[str, ...] = ()
    """Of the prompt, in order; the most actionable last."""

    instructions: tuple[Step, ...] = ()
    instead: Mapping[str, str] = {}
    """A tool that agents try although it is not here, and the one to use."""

    commands: tuple[str, ...] = ()
    """The tools, by name or pattern, that `bn` commands reach although they are not among `tools`.

    Also acts that only commands do, as `queue_add`. What only people do is never among them.
    """

    created_status: Status | None = None
    """What new tasks get, whatever is asked for."""

    keeps_to_feature: bool = False
    """Whether a session about a feature sees, and adds, tasks of that feature where none is named."""

    upstreams: bool = False
    """Whether the tools of other MCP servers join, and those of the project's own scripts."""

    budget: int = 6000
    """Tokens of the prompt."""

    tool_budget: int = 10_000
    """Tokens of the list of tools. Those of other servers that do not fit are found by search."""


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
    from binnacle.plan.recipe_limits import narrow  # built on recipes

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
    if (number := len(expanded(made, catalog))) > TOOL_LIMIT:
        raise ConfigError(
            f"{lines.at('tools')}: {number} tools; a recipe has at most {TOOL_LIMIT}",
            hint="leave out what the session can do without",
        )
    return made


def _tools(written: _File, base: Recipe, catalog: Catalog) -> tuple[ToolRule, ...]:
    """Those of the base that were not taken away or given anew, and the recipe's own."""
    own = {rule.name: rule for rule in map(_rule, written.tools)}
    kept = (rule for rule in base.tools if not _is_named(rule.name, written.without, catalog))
    return (*(rule for rule in kept if rule.name not in own), *own.values())


def expanded(recipe: Recipe, catalog: Catalog) -> list[ToolRule]:
    """The rules with every pattern replaced by the tools it matches, by their own names; no name is there twice."""
    found: dict[str, ToolRule] = {}
    for rule in recipe.tools:
        for name in _matched(rule, catalog):
            found.setdefault(name, msgspec.structs.replace(rule, name=name))
    return list(found.values())


def _matched(rule: ToolRule, catalog: Catalog) -> list[str]:
    """The names that a rule stands for."""
    return [one.name for one in catalog if fnmatchcase(one.name, rule.name)] if "*" in rule.name else [rule.name]


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
        for name in _matched(rule, catalog):
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


def task_parameter(spec: ToolSpec) -> str | None:
    """What a tool calls the task it is about: `task_id`, or `id` if it is one of the tasks' own tools."""
    names = ("task_id", "id") if spec.name.startswith("task_") else ("task_id",)
    return next((name for name in names if name in spec.parameters.__struct_fields__), None)


def _find(name: str, catalog: Catalog, place: str) -> FoundTool:
    try:
        return catalog.find(name)
    except NotFound as error:
        raise ConfigError(f"{place}: {error.message}", hint=error.next_steps) from error


def _is_named(name: str, words: Sequence[str], catalog: Catalog) -> bool:
    return matching(words, names_of(name, catalog)) is not None


def names_of(name: str, catalog: Catalog) -> tuple[str, ...]:
    """Every name of the tool that one of them is."""
    if name not in catalog:
        return (name,)
    spec = catalog.find(name).spec
    return (spec.name, *(alias.name for alias in spec.aliases))


def matching(words: Iterable[str], names: Iterable[str]) -> str | None:
    """The first of some words or patterns that is, or matches, one of the names."""
    known = tuple(names)
    return next((word for word in words if any(fnmatchcase(name, word) for name in known)), None)
