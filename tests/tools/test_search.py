"""Tools that are not listed are found by words and called by name."""

import asyncio

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from binnacle.errors import InvalidInput
from binnacle.tools.caller import Caller
from binnacle.tools.catalog import Catalog
from binnacle.tools.dispatch import Dispatcher
from binnacle.tools.exposed_tool import ExposedTool
from binnacle.tools.outcome import Outcome, ToolReply
from binnacle.tools.tool_search import MAX_LINE_CHARACTERS, MAX_SCHEMA_BYTES, ToolFinder, ToolIndex, fit_budget, search
from binnacle.tools.tool_spec import ToolAlias, ToolHints, ToolSpec
from binnacle.work.actor import Actor
from binnacle.work.session import Session as CallerSession


def entry(name: str, description: str = "", *, title: str = "", **parameters: str) -> dict:
    properties = {key: {"type": "string", "description": told} for key, told in parameters.items()}
    schema = {"type": "object", "properties": properties, "required": list(properties)[:1]}
    return {"name": name, "title": title, "description": description, "inputSchema": schema}


TOOLS = [
    entry(
        "mcp_github_create_issue", "Create a new issue in a repository.", owner="who", repo="which", title="its title"
    ),
    entry(
        "mcp_github_list_issues", "List the issues of a repository.", owner="who", repo="which", state="open or closed"
    ),
    entry("mcp_github_merge_pull_request", "Merge a pull request.", owner="who", pull_number="number of the request"),
    entry("mcp_files_readFile", "Reads a text file from disk.", path="where it is"),
    entry(
        "mcp_files_write_file", "Writes text to a file, which is created if it is not there.", path="where", text="what"
    ),
    entry("mcp_db_query", "Run a read-only SQL statement against the PostgreSQL database.", sql="the statement"),
    entry("mcp_db_schema", "Show tables and columns.", table="name of the table"),
    entry("mcp_chat_send", "Post to a channel.", channel="where", body="the message, in Markdown"),
    entry("mcp_maps_geocode", "地址转换为经纬度坐标", address="结构化地址"),
]
INDEX = ToolIndex(TOOLS)


def found(query: str, limit: int = 3) -> list[str]:
    return [hit.name.removeprefix("mcp_") for hit in search(INDEX, query, limit)]


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("create issue", "github_create_issue"),
        ("I want to open a new issue in the repository", "github_create_issue"),
        ("list issues", "github_list_issues"),
        ("createIssue", "github_create_issue"),
        ("github.create-issue", "github_create_issue"),
        ("github:create_issue", "github_create_issue"),
        ("pull requests", "github_merge_pull_request"),
        ("read file", "files_readFile"),
        ("read_file", "files_readFile"),
        ("save text in a file", "files_write_file"),
        ("postgres", "db_query"),
        ("sql", "db_query"),
        ("base", "db_query"),
        ("columns of a table", "db_schema"),
        ("send message", "chat_send"),
        ("markdown", "chat_send"),
        ("channel", "chat_send"),
        ("坐标", "maps_geocode"),
    ],
)
def test_the_tool_that_was_meant_comes_first(query, best):
    assert found(query)[0] == best


def test_a_parameter_finds_every_tool_that_has_it():
    assert set(found("repo")) == {"github_create_issue", "github_list_issues"}


def test_a_name_finds_its_tool_before_all_others():
    tools = [entry("file", "a b"), entry("file_file", "file file file", title="file")]
    assert search(ToolIndex(tools), " File ", 2)[0].name == "file"


def test_what_nothing_fits_finds_nothing():
    assert found("xylophone") == []
    assert found("") == []
    assert found("?!") == []
    assert search(ToolIndex([]), "file", 5) == []


def test_no_more_is_found_than_was_asked_for():
    assert len(found("github", limit=2)) == 2
    assert len(found("github", limit=50)) == 3


def test_words_that_say_nothing_count_where_there_are_no_others():
    assert search(ToolIndex([entry("how", "to do it")]), "how to", 1)[0].name == "how"


def test_a_schema_of_any_form_can_be_searched():
    odd = [{"name": f"odd{number}", "inputSchema": schema} for number, schema in enumerate([{}, {"properties": []}])]
    odd.append({"name": "odd9", "description": 5, "inputSchema": {"properties": {"deep": True, "x": {"items": 3}}}})
    assert [hit.name for hit in search(ToolIndex(odd), "deep", 5)] == ["odd9"]


@given(st.text(max_size=300))
def test_any_question_has_an_answer(query):
    hits = search(INDEX, query, 5)
    assert len(hits) <= 5
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_the_kept_are_listed_first_and_then_in_order_what_fits():
    entries = [("a", 40), ("big", 500), ("b", 30), ("own", 50), ("c", 30)]
    assert fit_budget(entries, 150, ["own"]) == {"own", "a", "b", "c"}
    assert fit_budget(entries, 130, ["own"]) == {"own", "a", "b"}
    assert fit_budget(entries, 1000, []) == {"a", "big", "b", "own", "c"}
    assert fit_budget(entries, 100, ["big", "gone"]) == {"big"}


@given(st.lists(st.tuples(st.text(), st.integers(1, 500)), unique_by=lambda one: one[0]), st.integers(0, 2000))
def test_a_list_stays_within_its_budget(entries, budget):
    listed = fit_budget(entries, budget, ())
    assert sum(tokens for name, tokens in entries if name in listed) <= budget
    if sum(tokens for _, tokens in entries) <= budget:
        assert len(listed) == len(entries)


class Echo(Struct, forbid_unknown_fields=True):
    text: str


async def echo(caller: Caller, given: Echo) -> ToolReply:
    if given.text == "fail":
        raise InvalidInput("it failed", hint="say something else")
    return ToolReply({"said": given.text}, given.text)


class Session:
    """A session that lists the two tools and may also use `unlisted`, but not `denied`."""

    def __init__(self, entries=()) -> None:
        fields = {"title": "", "description": "Says it.", "category": "x", "hints": ToolHints(read_only=True)}
        specs = [
            ToolSpec(
                name=name, parameters=Echo, run=echo, aliases=(ToolAlias(name=f"x:{name}"),), prefix=True, **fields
            )
            for name in ("unlisted", "denied")
        ]
        shown = [ExposedTool("unlisted", specs[0])]
        self.index = ToolIndex(entries or [one.entry() for one in shown])
        finder = ToolFinder(lambda: self.index, self._reply)
        two = finder.specs()
        exposed = [*shown, *(ExposedTool(spec.name, spec) for spec in two)]
        self.dispatcher = Dispatcher(Catalog([*specs, *two]), exposed=exposed)
        self.caller = Caller(session=CallerSession(actor=Actor("ann")))

    async def _reply(self, caller: Caller, name: str, raw: bytes) -> ToolReply:
        return await self.dispatcher.reply(caller, name, raw)

    def __call__(self, name: str, /, **arguments) -> Outcome:
        return asyncio.run(self.dispatcher.call(name, msgspec.json.encode(arguments), self.caller))


def data(outcome: Outcome):
    return msgspec.json.decode(msgspec.json.encode(outcome.envelope))["data"]


def test_a_tool_is_found_and_called_in_two_steps():
    session = Session()
    (tool,) = data(session("tool_search", query="says"))["tools"]
    assert (tool["name"], tool["required"]) == ("unlisted", ["text"])
    assert tool["inputSchema"]["properties"] == {"text": {"type": "string"}}
    outcome = session("tool_call", name=tool["name"], arguments={"text": "hello"})
    assert (outcome.text, data(outcome)) == ("hello", {"said": "hello"})


def test_a_tool_is_called_by_any_of_its_names():
    assert Session()("tool_call", name="x:unlisted", arguments={"text": "a"}).text == "a"


@pytest.mark.parametrize("arguments", ['{"text": "a"}', {"text": "a"}])
def test_arguments_may_come_as_text(arguments):
    assert Session()("tool_call", name="unlisted", arguments=arguments).text == "a"


@pytest.mark.parametrize("arguments", [{}, {"text": 1, "more": 2}, {"text": "fail"}, {"txt": "a"}])
def test_errors_are_those_of_a_direct_call(arguments):
    session = Session()
    direct = session("unlisted", **arguments)
    through = session("tool_call", name="unlisted", arguments=arguments)
    assert direct.is_error
    assert (through.text, through.envelope["error"]) == (direct.text, direct.envelope["error"])


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"name": "denied", "arguments": {"text": "a"}}, "E_TOOL_DISABLED"),
        ({"name": "x:denied", "arguments": {"text": "a"}}, "E_TOOL_DISABLED"),
        ({"name": "nothing"}, "E_NOT_FOUND"),
        ({"name": "tool_call", "arguments": {"name": "unlisted"}}, "E_REFUSED"),
        ({"name": "tool_search", "arguments": {"query": "a"}}, "E_REFUSED"),
        ({"name": "unlisted", "arguments": [1]}, "E_INVALID_PARAMS"),
        ({"name": "unlisted", "arguments": "{"}, "E_INVALID_PARAMS"),
        ({"name": "unlisted", "arguments": None}, "E_INVALID_PARAMS"),
        ({}, "E_INVALID_PARAMS"),
    ],
)
def test_what_cannot_be_called_is_said(given, code):
    assert Session()("tool_call", **given).envelope["error"]["code"] == code


def test_a_search_that_finds_nothing_says_so():
    outcome = Session()("tool_search", query="xylophone")
    assert not outcome.is_error
    assert outcome.text == "none of 1 tools fits 'xylophone'; try other words"
    assert data(outcome)["tools"] == []


def test_text_and_structure_say_the_same_and_stay_short():
    tools = [entry(f"tool{number}", "Does it. And then " + "more " * 90, first="x" * 300) for number in range(500)]
    tools[0]["inputSchema"]["properties"]["huge"] = {"description": "y" * MAX_SCHEMA_BYTES}
    outcome = Session(tools)("tool_search", query="does it", limit=50)
    found = data(outcome)["tools"]
    assert len(found) == 50
    assert {one["description"] for one in found} == {"Does it."}
    with_schema = [one for one in found if "inputSchema" in one]
    assert 1 <= len(with_schema) <= 5
    assert found[0]["name"] == "tool0"
    assert "inputSchema" not in found[0]
    assert len(outcome.text) < MAX_SCHEMA_BYTES + 50 * (MAX_LINE_CHARACTERS + 60)
    assert all(one["name"] in outcome.text for one in found)
    assert outcome.text.splitlines()[0] == "tool0(first): Does it."


def test_the_two_tools_cost_little():
    two = [one.entry() for one in Session().dispatcher.exposed if one.name.startswith("tool_")]
    assert two[1]["inputSchema"]["properties"]["arguments"]["type"] == "object"
    assert len(msgspec.json.encode(two)) < 1400
