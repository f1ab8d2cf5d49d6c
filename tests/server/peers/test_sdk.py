"""The official Python SDK's client, in both eras and over both transports: what the server says really arrives."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import pytest

from server.clients import Http
from server.peers.conftest import Target

pytestmark = [
    pytest.mark.peers,
    # The SDK warns of everything that 2026-07-28 took away; that is what half of these tests are about.
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

NEW = "2026-07-28"
WITHIN = 60.0

Heard = asyncio.Queue[Any]


@pytest.fixture(params=["legacy", "auto", NEW])
def mode(request) -> str:
    return request.param


@pytest.fixture
def connect(sdk: Any, fixture: Target) -> Callable[..., Any]:
    """Makes a client of the fixture."""
    return lambda mode, **options: client_of(sdk, fixture, mode, **options)


def client_of(sdk: Any, target: Target, mode: str, **options: Any) -> Any:
    if target.url:
        return sdk.Client(target.url, mode=mode, read_timeout_seconds=WITHIN, **options)
    command, *words = target.command
    server = sdk.StdioServerParameters(command=command, args=words, cwd=target.cwd, env=target.env)
    return sdk.Client(server, mode=mode, read_timeout_seconds=WITHIN, **options)


def run(work: Awaitable[None]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(WITHIN):
            await work

    asyncio.run(bounded())


def text_of(result: Any) -> str:
    return result.content[0].text


async def hear(heard: Heard, again: Callable[[], Awaitable[Any]], wanted: Callable[[Any], bool]) -> Any:
    """Does something until its effect is heard: over HTTP, a client of the handshake era listens when it gets to it."""
    while True:
        await again()
        try:
            async with asyncio.timeout(1):
                while not wanted(found := await heard.get()):
                    pass
        except TimeoutError:
            continue
        return found


def test_the_era_is_negotiated(connect: Any, mode: str):
    async def work() -> None:
        async with connect(mode) as client:
            assert client.protocol_version == ("2025-11-25" if mode == "legacy" else NEW)
            if mode != NEW:  # which asks nothing before it begins
                assert client.server_info.name == "fixture"
                assert client.instructions == "A server for tests."

    run(work())


def test_everything_listed_can_be_used(connect: Any, mode: str):
    async def work() -> None:
        async with connect(mode) as client:
            tools = (await client.list_tools()).tools
            assert {"echo", "hold", "count"} <= {tool.name for tool in tools}
            assert text_of(await client.call_tool("echo", {"text": "é 😀"})) == "é 😀"
            page = await client.list_resources()
            rest = await client.list_resources(cursor=page.next_cursor)
            assert (len(page.resources), len(rest.resources), rest.next_cursor) == (2, 1, None)
            read = await client.read_resource("test://static-text")
            assert read.contents[0].text.startswith("This is the content")
            assert (await client.read_resource("test://template/7/data")).contents[0].text.startswith('{"id": "7"')
            assert len((await client.list_resource_templates()).resource_templates) == 1
            assert len((await client.list_prompts()).prompts) == 5
            prompt = await client.get_prompt("test_prompt_with_arguments", {"arg1": "a", "arg2": "b"})
            assert "arg1='a'" in prompt.messages[0].content.text

    run(work())


def test_completion_answers(connect: Any, mode: str):
    import mcp_types

    async def work() -> None:
        async with connect(mode) as client:
            reference = mcp_types.PromptReference(name="test_prompt_with_arguments")
            found = await client.complete(reference, {"name": "arg1", "value": "pa"})
            assert found.completion.values == ["paris", "park"]

    run(work())


def test_errors_arrive_as_errors(connect: Any, sdk: Any, mode: str):
    async def work() -> None:
        async with connect(mode) as client:
            for name, code in (("no such tool", -32602), ("break_down", -32603)):
                with pytest.raises(sdk.MCPError) as refused:
                    await client.call_tool(name, {})
                assert refused.value.code == code
            assert (await client.call_tool("test_error_handling", {})).is_error

    run(work())


def test_progress_arrives_before_the_answer(connect: Any, mode: str):
    async def work() -> None:
        heard: list[tuple[float, float | None]] = []

        async def progressed(done: float, total: float | None, message: str | None) -> None:
            heard.append((done, total))

        async with connect(mode) as client:
            result = await client.call_tool("count", {"steps": 3}, progress_callback=progressed)
            assert text_of(result) == "3 steps"
        assert heard == [(step, 3) for step in range(1, 4)]

    run(work())


def test_log_messages_arrive_at_the_level_asked_for(connect: Any, mode: str):
    async def work() -> None:
        heard: Heard = asyncio.Queue()

        async def logged(params: Any) -> None:
            heard.put_nowait((params.level, params.data))

        async with connect(mode, logging_callback=logged, log_level="warning") as client:
            if mode == "legacy":
                await client.set_logging_level("warning")
            for level in ("info", "warning", "error"):
                await client.call_tool("log", {"level": level, "text": "hello"})
            assert [await heard.get(), await heard.get()] == [("warning", "hello"), ("error", "hello")]
        assert heard.empty()

    run(work())


def test_a_cancelled_call_ends_its_tool_and_the_client_goes_on(connect: Any, mode: str):
    async def work() -> None:
        name = uuid4().hex
        async with connect(mode) as client:
            held = asyncio.create_task(client.call_tool("hold", {"name": name}))
            await client.call_tool("wait_until", {"name": name, "state": "holding"})
            held.cancel()
            with pytest.raises(asyncio.CancelledError):
                await held
            assert text_of(await client.call_tool("wait_until", {"name": name, "state": "cancelled"})) == "ok"
            assert text_of(await client.call_tool("echo", {"text": "as before"})) == "as before"

    run(work())


def test_many_calls_at_once_are_each_answered(connect: Any, mode: str):
    async def work() -> None:
        async with connect(mode) as client:
            results = await asyncio.gather(*(client.call_tool("echo", {"text": str(number)}) for number in range(50)))
            assert [text_of(result) for result in results] == [str(number) for number in range(50)]

    run(work())


class TestChangesOfTheHandshakeEra:
    def test_of_lists_arrive(self, connect: Any):
        async def work() -> None:
            heard: Heard = asyncio.Queue()
            async with connect("legacy", message_handler=_handler(heard)) as client:
                for what in ("tools", "prompts", "resources"):
                    await hear(
                        heard,
                        lambda what=what: client.call_tool("change", {"what": what}),
                        lambda found, what=what: found.method == f"notifications/{what}/list_changed",
                    )
                assert "added" in {tool.name for tool in (await client.list_tools()).tools}

        run(work())

    def test_of_resources_arrive_while_subscribed(self, connect: Any):
        async def work() -> None:
            heard: Heard = asyncio.Queue()
            mine, other = f"test://{uuid4().hex}", f"test://{uuid4().hex}"
            async with connect("legacy", message_handler=_handler(heard)) as client:
                await client.subscribe_resource(mine)
                found = await hear(
                    heard,
                    lambda: client.call_tool("touch", {"uri": mine}),
                    lambda found: found.method == "notifications/resources/updated",
                )
                assert found.params.uri == mine
                await client.unsubscribe_resource(mine)
                await client.subscribe_resource(other)
                await client.call_tool("touch", {"uri": mine})
                await client.call_tool("touch", {"uri": other})
                while (found := await heard.get()).params.uri != other:
                    assert found.params.uri == mine  # of a touch from before

        run(work())


def _handler(heard: Heard) -> Callable[[Any], Awaitable[None]]:
    async def handle(message: Any) -> None:
        if getattr(message, "method", "") in (
            "notifications/tools/list_changed",
            "notifications/prompts/list_changed",
            "notifications/resources/list_changed",
            "notifications/resources/updated",
        ):
            heard.put_nowait(message)

    return handle


@pytest.mark.parametrize("mode", ["auto", NEW])
class TestChangesOfTheStatelessEra:
    def test_of_lists_arrive(self, connect: Any, mode: str):
        async def work() -> None:
            async with connect(mode) as client:
                wanted = dict.fromkeys(("tools_list_changed", "prompts_list_changed", "resources_list_changed"), True)
                async with client.listen(**wanted) as changes:
                    assert changes.honored.tools_list_changed
                    for what in ("tools", "prompts", "resources"):
                        await client.call_tool("change", {"what": what})
                        assert type(await anext(changes)).__name__ == f"{what.capitalize()}ListChanged"

        run(work())

    def test_of_resources_arrive_while_listening(self, connect: Any, mode: str):
        async def work() -> None:
            mine, other = f"test://{uuid4().hex}", f"test://{uuid4().hex}"
            async with connect(mode) as client:
                async with client.listen(resource_subscriptions=[mine]) as changes:
                    await client.call_tool("change", {"what": "tools"})
                    await client.call_tool("touch", {"uri": other})
                    await client.call_tool("touch", {"uri": mine})
                    assert (await anext(changes)).uri == mine
                async with client.listen(resource_subscriptions=[other]) as changes:
                    await client.call_tool("touch", {"uri": mine})
                    await client.call_tool("touch", {"uri": other})
                    assert (await anext(changes)).uri == other

        run(work())

    def test_reach_several_listeners(self, connect: Any, mode: str):
        async def work() -> None:
            uri = f"test://{uuid4().hex}"
            async with (
                connect(mode) as client,
                client.listen(resource_subscriptions=[uri]) as one,
                client.listen(tools_list_changed=True) as two,
            ):
                await client.call_tool("touch", {"uri": uri})
                await client.call_tool("change", {"what": "tools"})
                assert (await anext(one)).uri == uri
                assert type(await anext(two)).__name__ == "ToolsListChanged"

        run(work())


def test_a_listener_sees_a_server_that_stops_as_an_orderly_end(sdk: Any):
    async def work() -> None:
        with Http() as server:
            async with sdk.Client(server.url, mode=NEW) as client, client.listen(tools_list_changed=True) as changes:
                server.terminate()
                assert [change async for change in changes] == []

    run(work())


class TestQuestionsToTheClient:
    """During a request in the handshake era, by its result in the stateless one; the client does the same for both."""

    def answers(self) -> dict[str, Any]:
        import mcp_types as types

        async def sample(context: Any, params: Any) -> Any:
            answer = types.TextContent(type="text", text=f"{params.messages[0].content.text} - Paris")
            return types.CreateMessageResult(role="assistant", content=answer, model="m")

        async def elicit(context: Any, params: Any) -> Any:
            properties = params.requested_schema["properties"]
            return types.ElicitResult(action="accept", content=dict.fromkeys(properties, "blue"))

        async def roots(context: Any) -> Any:
            return types.ListRootsResult(roots=[types.Root(uri="file:///a"), types.Root(uri="file:///b")])

        return {"sampling_callback": sample, "elicitation_callback": elicit, "list_roots_callback": roots}

    def test_are_answered_in_the_handshake_era(self, connect: Any):
        async def work() -> None:
            async with connect("legacy", **self.answers()) as client:
                assert text_of(await client.call_tool("test_sampling", {"prompt": "France?"})) == (
                    "LLM response: France? - Paris"
                )
                assert '"response": "blue"' in text_of(await client.call_tool("test_elicitation", {"message": "?"}))
                assert text_of(await client.call_tool("ask_roots", {})) == "2 roots"

        run(work())

    @pytest.mark.parametrize("mode", ["auto", NEW])
    def test_are_answered_in_the_stateless_era(self, connect: Any, mode: str):
        async def work() -> None:
            async with connect(mode, **self.answers()) as client:
                for tool, answer in (
                    ("elicitation", "Hello, blue!"),
                    ("sampling", "The model said: What is the capital of France? - Paris"),
                    ("list_roots", "The client has 2 roots."),
                    ("multiple_inputs", "All inputs received."),
                    ("multi_round", "blue likes blue."),
                ):
                    assert text_of(await client.call_tool(f"test_input_required_result_{tool}", {})) == answer
                prompt = await client.get_prompt("test_input_required_result_prompt")
                assert prompt.messages[0].content.text == "Use blue"

        run(work())


class TestProduct:
    """`bn mcp serve` with the same client."""

    def test_a_task_is_added_and_listed(self, sdk: Any, product: Target, mode: str):
        async def work() -> None:
            async with client_of(sdk, product, mode) as client:
                tools = {tool.name: tool for tool in (await client.list_tools()).tools}
                assert {"task_add", "task_list"} <= tools.keys()
                assert all(tool.annotations is not None and tool.description for tool in tools.values())
                added = await client.call_tool("task_add", {"tasks": [{"title": "Try it"}]})
                assert not added.is_error, added
                listed = await client.call_tool("task_list", {})
                assert not listed.is_error
                assert "Try it" in text_of(listed)
                assert "Try it" in str(listed.structured_content)

        run(work())
