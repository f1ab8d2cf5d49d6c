"""The catalog: every tool with what it costs and takes, which recipe has it and why not, and calls of any of them."""

import asyncio
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from binnacle.errors import InvalidInput, NotReady
from binnacle.plan.recipe_comparison import ToolInRecipe, compare_recipes, explain_tool, load_recipes
from binnacle.plan.token_count import count
from binnacle.project.project import Project
from binnacle.project.tool_catalog import catalog_of
from binnacle.store.features import get_discipline, list_disciplines
from binnacle.store.transaction import Reader
from binnacle.tools.catalog import Catalog
from binnacle.tools.exposed_tool import ExposedTool
from binnacle.tools.json_schema import input_schema, output_schema
from binnacle.tools.tool_search import FINDERS
from binnacle.tools.tool_spec import ToolSpec
from binnacle.web.endpoints import acts, reads
from binnacle.web.page_project import PageProject
from binnacle.web.tool_calls import ToolCallResult, call_tool
from binnacle.web.upstream_tests import upstream_tests_of
from binnacle.wire.hidden_text import make_visible
from binnacle.work.feature import Discipline

MAX_DESCRIPTION_CHARACTERS = 20_000
MAX_SCHEMA_CHARACTERS = 200_000

SESSION_TOOLS = frozenset(("binnacle-set_agent", "binnacle-orient", "binnacle-goodbye", "bn_run", *FINDERS))
"""Tools that say or use who an agent's session is. A person has none."""


class ToolsQuery(Struct, frozen=True, kw_only=True):
    """For whom the tools are wanted."""

    discipline: str = ""
    """Its denials count."""


class ToolName(Struct, frozen=True, kw_only=True):
    """Names a tool, by any of its names."""

    name: str
    discipline: str = ""


class CatalogTool(Struct, frozen=True, kw_only=True):
    """A tool as a list shows it."""

    name: str
    title: str
    category: str
    summary: str
    tokens: int
    """What its entry costs an agent."""

    aliases: list[str]
    server: str
    """The upstream server that it belongs to; empty if it is ours or the project's."""

    is_reading: bool
    is_destructive: bool
    recipes: list[str]
    """Those that have it."""

    limited: list[str]
    """Those of them that have it within limits."""

    can_call: bool


class CatalogRecipe(Struct, frozen=True, kw_only=True):
    """A recipe, and what its tools cost."""

    name: str
    aliases: list[str]
    description: str
    tools: int
    tokens: int
    has_upstreams: bool


class ToolsPage(Struct, frozen=True, kw_only=True):
    """The catalog, and what each recipe has of it."""

    tools: list[CatalogTool]
    recipes: list[CatalogRecipe]
    disciplines: list[str]
    tested: list[str]
    """The upstream servers whose tools are among them: those that were tested on this page."""


class CatalogAlias(Struct, frozen=True, kw_only=True):
    """Another name of a tool, and what it takes under that name."""

    name: str
    schema: str


class ToolFailure(Struct, frozen=True, kw_only=True):
    """An error that a tool may answer with, and when."""

    code: str
    when: str


class ToolPage(Struct, frozen=True, kw_only=True):
    """Everything about a tool."""

    tool: CatalogTool
    description: str
    when_to_use: str
    schema: str
    """What it takes, as a JSON schema."""

    output_schema: str
    """What its data looks like; empty if it does not say."""

    aliases: list[CatalogAlias]
    failures: list[ToolFailure]
    prerequisites: list[str]
    timeout: float | None
    is_idempotent: bool
    recipes: list[ToolInRecipe]


class CallTool(Struct, frozen=True, kw_only=True):
    """Calls a tool as the person."""

    name: str
    arguments: str
    """As JSON."""

    is_confirmed: bool = False
    """Whether the person was asked again; needed for tools that change something."""


class _Known(NamedTuple):
    """The catalog, and the servers of the upstream tools in it."""

    catalog: Catalog
    servers: dict[str, str]


@reads("tools")
async def read_tools(project: PageProject, asked: ToolsQuery) -> ToolsPage:
    who, names = await project.read(lambda tx: _find_disciplines(tx, asked.discipline))
    known = await asyncio.to_thread(_load_catalog, project)
    return await asyncio.to_thread(_list_tools, project.project, known, who, names)


@reads("tool")
async def read_tool(project: PageProject, asked: ToolName) -> ToolPage:
    who, _ = await project.read(lambda tx: _find_disciplines(tx, asked.discipline))
    known = await asyncio.to_thread(_load_catalog, project)
    return await asyncio.to_thread(_describe_tool, project.project, known, known.catalog.find(asked.name).spec, who)


@acts("call_tool", within=310)
async def call_any_tool(project: PageProject, asked: CallTool) -> ToolCallResult:
    known = await asyncio.to_thread(_load_catalog, project)
    spec = known.catalog.find(asked.name).spec
    if spec.name in SESSION_TOOLS:
        raise InvalidInput(f"{spec.name} is for the session of an agent", hint="call what you need directly")
    if not spec.hints.read_only and not asked.is_confirmed:
        raise NotReady(f"{spec.name} changes something", hint="confirm that you want that")
    return await call_tool(project, spec, known.servers.get(spec.name, ""), asked.arguments.encode("utf-8", "replace"))


def _find_disciplines(tx: Reader, name: str) -> tuple[Discipline | None, list[str]]:
    return get_discipline(tx, name) if name else None, [one.name for one in list_disciplines(tx)]


def _load_catalog(project: PageProject) -> _Known:
    """Our tools and those of the project's scripts, and the tools of the servers that were tested."""
    catalog, servers = catalog_of(project.project), {}
    for server, tested in upstream_tests_of(project).last.items():
        for spec in tested.specs:
            if spec.name not in catalog and not any(alias.name in catalog for alias in spec.aliases):
                catalog.add(spec)
                servers[spec.name] = server
    return _Known(catalog, servers)


def _list_tools(project: Project, known: _Known, who: Discipline | None, disciplines: list[str]) -> ToolsPage:
    recipes = load_recipes(known.catalog, repo=project.repo)
    compared = compare_recipes(known.catalog, recipes, who)
    tools = [_line(spec, known) for spec in known.catalog]
    tokens = {tool.name: tool.tokens for tool in tools}
    having: dict[str, list[str]] = {}
    limited: dict[str, list[str]] = {}
    for one in compared:
        for tool in (*one.plain, *one.limited):
            having.setdefault(tool, []).append(one.name)
        for tool in one.limited:
            limited.setdefault(tool, []).append(one.name)
    return ToolsPage(
        tools=[
            msgspec.structs.replace(tool, recipes=having.get(tool.name, []), limited=limited.get(tool.name, []))
            for tool in tools
        ],
        recipes=[
            CatalogRecipe(
                name=one.name,
                aliases=one.aliases,
                description=one.description,
                tools=len(one.plain) + len(one.limited),
                tokens=sum(tokens[tool] for tool in (*one.plain, *one.limited)),
                has_upstreams=recipe.upstreams,
            )
            for one, recipe in zip(compared, recipes, strict=True)
        ],
        disciplines=disciplines,
        tested=sorted(set(known.servers.values())),
    )


def _line(spec: ToolSpec, known: _Known) -> CatalogTool:
    lines = (line.strip() for line in spec.description.splitlines())
    return CatalogTool(
        name=spec.name,
        title=make_visible(spec.title)[:200],
        category=make_visible(spec.category),
        summary=make_visible(next(filter(None, lines), ""))[:300],
        tokens=count(msgspec.json.encode(ExposedTool(spec.name, spec).entry()).decode(errors="replace")),
        aliases=[alias.name for alias in spec.aliases],
        server=known.servers.get(spec.name, ""),
        is_reading=spec.hints.read_only,
        is_destructive=spec.hints.destructive,
        recipes=[],
        limited=[],
        can_call=spec.name not in SESSION_TOOLS,
    )


def _describe_tool(project: Project, known: _Known, spec: ToolSpec, who: Discipline | None) -> ToolPage:
    explained = explain_tool(spec.name, known.catalog, load_recipes(known.catalog, repo=project.repo), who)
    entry = ExposedTool(spec.name, spec).entry()
    output = entry.get("outputSchema") if spec.foreign is not None else output_schema(spec)
    having = [one.recipe for one in explained.recipes if one.enabled]
    return ToolPage(
        tool=msgspec.structs.replace(_line(spec, known), recipes=having),
        description=make_visible(spec.description[:MAX_DESCRIPTION_CHARACTERS]),
        when_to_use=spec.when_to_use,
        schema=_format(entry.get("inputSchema")),
        output_schema=_format(output) if output else "",
        aliases=[]
        if spec.foreign is not None
        else [CatalogAlias(name=alias.name, schema=_format(input_schema(spec, alias))) for alias in spec.aliases],
        failures=[ToolFailure(code=one.code, when=one.when) for one in spec.errors],
        prerequisites=list(spec.prerequisites),
        timeout=spec.timeout,
        is_idempotent=spec.hints.idempotent,
        recipes=explained.recipes,
    )


def _format(schema: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(schema), indent=2).decode(errors="replace")[:MAX_SCHEMA_CHARACTERS]
