"""The reference servers from npm through ours: what they offer arrives, whatever they are reached over."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from upstream.peers.conftest import Fronts, connected, free_port, listening, npm_server, run

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore::UserWarning")]

EVERYTHING = ("echo", "get-sum", "get-tiny-image", "get-structured-content", "get-resource-reference")
ON_THE_WAY = ("trigger-long-running-operation", "trigger-elicitation-request")


@pytest.fixture(params=["stdio", "streamableHttp", "sse"])
def everything(request) -> Iterator[dict[str, Any]]:
    """`server-everything`, over each of its transports. What is allowed by name is always listed."""
    config = npm_server("everything", request.param)
    rules = {"tools": {"allow": [*EVERYTHING, *ON_THE_WAY]}}
    if request.param == "stdio":
        yield {**config, **rules}
        return
    with listening(config, port=free_port()) as url:
        yield (
            {"transport": "sse", "url": f"{url}/sse", **rules}
            if request.param == "sse"
            else {
                "url": f"{url}/mcp",
                **rules,
            }
        )


def test_everything_passes_through(sdk: Any, front: Fronts, everything: dict[str, Any], mode: str):
    async def work() -> None:
        async with connected(sdk, front({"every": everything}), mode) as client:
            await client.offered(*(f"mcp_every_{name}" for name in EVERYTHING))
            assert await client.say("mcp_every_echo", message="grüß dich") == "Echo: grüß dich"
            assert "5" in await client.say("mcp_every_get-sum", a=2, b=3)
            kinds = [part.type for part in (await client.call("mcp_every_get-tiny-image")).content]
            assert "image" in kinds
            weather = await client.call("mcp_every_get-structured-content", location="Chicago")
            assert weather.structured_content.keys() == {"temperature", "conditions", "humidity"}
            parts = (await client.call("mcp_every_get-resource-reference", resourceType="Text", resourceId=1)).content
            assert "resource" in [part.type for part in parts]

    run(work())


def test_everything_asks_and_reports(sdk: Any, front: Fronts, everything: dict[str, Any], mode: str):
    import mcp_types as types

    told: list[float] = []

    async def progress(done: float, _: Any, __: Any) -> None:
        told.append(done)

    async def elicit(_: Any, params: Any) -> Any:
        assert params.requested_schema["properties"]
        return types.ElicitResult(action="accept", content={"name": "Ann", "check": True})

    async def work() -> None:
        async with connected(sdk, front({"every": everything}), mode, elicitation_callback=elicit) as client:
            await client.offered(*(f"mcp_every_{name}" for name in ON_THE_WAY))
            given = {"duration": 0.2, "steps": 2}
            name = "mcp_every_trigger-long-running-operation"
            result = await client.client.call_tool(name, given, progress_callback=progress)
            assert "completed" in result.content[0].text
            assert told == [1, 2]
            answer = await client.call("mcp_every_trigger-elicitation-request")
            assert "Ann" in "".join(part.text for part in answer.content)

    run(work())


def test_files_are_written_and_read_below_the_folder_only(sdk: Any, front: Fronts, tmp_path: Path, mode: str):
    place = tmp_path / "files"
    place.mkdir()
    files = npm_server("filesystem", str(place)) | {"tools": {"allow": ["write_file", "read_text_file"]}}

    async def work() -> None:
        async with connected(sdk, front({"files": files}), mode) as client:
            tools = await client.offered("mcp_files_write_file", "mcp_files_read_text_file")
            assert not {"mcp_files_move_file", "mcp_files_edit_file"} & tools.keys()
            await client.call("mcp_files_write_file", path=str(place / "a.txt"), content="first\nsecond")
            assert (place / "a.txt").read_text() == "first\nsecond"
            assert await client.say("mcp_files_read_text_file", path=str(place / "a.txt"), head=1) == "first"
            refused = await client.client.call_tool("mcp_files_read_text_file", {"path": "/etc/hostname"})
            assert refused.is_error
            assert "denied" in refused.content[0].text

    run(work())


def test_memory_is_kept_over_a_restart(sdk: Any, front: Fronts, tmp_path: Path):
    file = str(tmp_path / "memory.jsonl")
    memory = npm_server("memory") | {"env": {"MEMORY_FILE_PATH": file}}
    memory["tools"] = {"allow": ["create_entities", "search_nodes"]}
    ann = {"name": "Ann", "entityType": "person", "observations": ["likes birds"]}

    async def work() -> None:
        target = front({"memory": memory})
        async with connected(sdk, target, "legacy") as client:
            await client.offered("mcp_memory_create_entities")
            await client.call("mcp_memory_create_entities", entities=[ann])
        async with connected(sdk, target, "legacy") as client:
            await client.offered("mcp_memory_search_nodes")
            found = await client.call("mcp_memory_search_nodes", query="birds")
            assert found.structured_content["entities"] == [ann]

    run(work())


def test_a_database_is_asked(sdk: Any, front: Fronts, birds: str, mode: str):
    database = npm_server("postgres", birds)

    async def work() -> None:
        async with connected(sdk, front({"db": database}), mode) as client:
            await client.offered("mcp_db_query")
            rows = json.loads(await client.say("mcp_db_query", sql="select name from birds order by name"))
            assert rows == [{"name": "robin"}, {"name": "wren"}]
            refused = await client.client.call_tool("mcp_db_query", {"sql": "delete from birds"})
            assert refused.is_error
            assert "read-only" in refused.content[0].text

    run(work())
