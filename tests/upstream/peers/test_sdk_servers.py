"""Servers made with the official SDK, of either era, reached through ours by its own client, of either era."""

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from upstream.peers.conftest import NEW, Fronts, connected, listening, run, sdk_server

pytestmark = [
    pytest.mark.peers,
    # The SDK warns of everything that 2026-07-28 took away; half of these tests use it.
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


@pytest.fixture(params=["stdio", "http"])
def behind(request) -> Iterator[dict[str, Any]]:
    """A new server behind ours, over each transport."""
    if request.param == "stdio":
        yield sdk_server("stdio")
        return
    with listening(sdk_server("http")) as url:
        yield {"url": url}


@pytest.fixture(params=["handshake", "stateless"])
def server(request, behind: dict[str, Any]) -> dict[str, Any]:
    """The same, spoken to in each era."""
    return {**behind, "protocol": request.param}


def test_what_tools_return_arrives_as_it_is(sdk: Any, front: Fronts, server: dict[str, Any], mode: str):
    async def work() -> None:
        async with connected(sdk, front({"its": server}), mode) as client:
            tools = await client.offered("mcp_its_add", "mcp_its_picture")
            assert tools["mcp_its_add"].output_schema["properties"]["total"]["type"] == "integer"
            result = await client.call("mcp_its_add", a=1, b=2)
            assert result.structured_content == {"total": 3, "of": [1, 2]}
            picture = (await client.call("mcp_its_picture")).content[0]
            assert picture.mime_type == "image/png"
            assert base64.b64decode(picture.data).startswith(b"\x89PNG")
            failed = await client.client.call_tool("mcp_its_fail", {})
            assert failed.is_error
            assert failed.content[0].text == "Error executing tool fail"

    run(work())


def test_a_question_of_the_server_reaches_the_person(sdk: Any, front: Fronts, server: dict[str, Any], mode: str):
    import mcp_types as types

    async def elicit(_: Any, params: Any) -> Any:
        assert params.message == "what is it?"
        return types.ElicitResult(action="accept", content={"text": "a bird"})

    async def work() -> None:
        async with connected(sdk, front({"its": server}), mode, elicitation_callback=elicit) as client:
            await client.offered("mcp_its_ask")
            assert await client.say("mcp_its_ask") == "it is a bird"

    run(work())


def test_a_question_is_refused_clearly_for_a_client_that_cannot_answer(
    sdk: Any, front: Fronts, server: dict[str, Any], mode: str
):
    async def work() -> None:
        async with connected(sdk, front({"its": server}), mode) as client:
            await client.offered("mcp_its_ask")
            refused = await client.client.call_tool("mcp_its_ask", {})
            assert refused.is_error
            assert "elicit" in refused.content[0].text.lower()

    run(work())


def test_progress_is_told_on_the_way(sdk: Any, front: Fronts, server: dict[str, Any], mode: str):
    told: list[tuple[float, Any, Any]] = []

    async def progress(done: float, total: Any, message: Any) -> None:
        told.append((done, total, message))

    async def work() -> None:
        async with connected(sdk, front({"its": server}), mode) as client:
            await client.offered("mcp_its_steps")
            result = await client.client.call_tool("mcp_its_steps", {"count": 3}, progress_callback=progress)
            assert result.content[0].text == "done"
            assert told == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]

    run(work())


def test_a_tool_that_comes_later_is_offered(sdk: Any, front: Fronts, server: dict[str, Any], mode: str):
    async def work() -> None:
        async with connected(sdk, front({"its": server}), mode) as client:
            assert "mcp_its_grown" not in await client.offered("mcp_its_grow")
            await client.call("mcp_its_grow")
            await client.offered("mcp_its_grown")
            assert await client.say("mcp_its_grown") == "I am new"

    run(work())


def test_resources_and_prompts_are_passed_on(sdk: Any, front: Fronts, behind: dict[str, Any], mode: str):
    async def work() -> None:
        async with connected(sdk, front({"its": {**behind, "protocol": "auto"}}), mode) as client:
            await client.offered("mcp_its_add")
            assert "note://one" in {str(one.uri) for one in (await client.client.list_resources()).resources}
            assert (await client.client.read_resource("note://one")).contents[0].text == "what is in it"
            assert (await client.client.read_resource("note://of/ann")).contents[0].text == "what ann wrote"
            assert "mcp_its_greet" in {one.name for one in (await client.client.list_prompts()).prompts}
            prompt = await client.client.get_prompt("mcp_its_greet", {"name": "ann"})
            assert prompt.messages[0].content.text == "say hello to ann"

    run(work())


@pytest.mark.parametrize("front", ["stdio"], indirect=True)
def test_two_eras_at_once_are_served_together(sdk: Any, front: Fronts):
    servers = {name: {**sdk_server("stdio"), "protocol": name} for name in ("handshake", "stateless")}

    async def work() -> None:
        async with connected(sdk, front(servers), NEW) as client:
            await client.offered("mcp_handshake_add", "mcp_stateless_add")
            for name in servers:
                assert (await client.call(f"mcp_{name}_add", a=2, b=2)).structured_content["total"] == 4

    run(work())
