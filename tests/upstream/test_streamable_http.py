"""Servers over Streamable HTTP: what is sent to them, and what comes of whatever they answer."""

import asyncio
import contextlib
import gzip
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from binnacle.errors import UpstreamBusy, UpstreamDown, UpstreamError, UpstreamLogin
from binnacle.upstream.mcp_client import CallHandlers, McpClient
from binnacle.upstream.transports import http_client, streamable_http
from binnacle.upstream.transports.streamable_http import StreamableHttpTransport
from binnacle.wire.jsonrpc import INTERNAL_ERROR, Notification, Request, Response, RpcError
from server.clients import Http, Server
from upstream.web_servers import (
    NEW,
    OLD,
    Asked,
    Auth,
    Peer,
    answer,
    config,
    descriptors,
    event,
    line,
    peer,
    request,
    run,
)

PROGRESS = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}'
SECRET = "swordfish"


@pytest.fixture(scope="module")
def server() -> Iterator[Http]:
    with Http("--token", SECRET) as found:
        yield found


def result_of(response: Response) -> dict:
    return json.loads(response.result or b"null")


# What we send


@pytest.mark.parametrize("protocol", ["auto", "handshake", "stateless"])
def test_our_own_server_is_spoken_to_in_both_eras(server, protocol):
    async def test() -> None:
        auth = Auth(SECRET)
        async with http_client.new_session() as session:
            changes = asyncio.Event()
            client = McpClient(
                lambda receive: StreamableHttpTransport(config(server.url), receive, session=session, credentials=auth),
                name="far",
                on_change=lambda method, _: changes.set() if method.endswith("list_changed") else None,
            )
            try:
                await client.link.open()
                await client.connect(protocol)
                assert client.era == ("handshake" if protocol == "handshake" else "stateless")
                tools = (await client.entries("tools")).entries
                progress: list[bytes] = []
                waiting = CallHandlers(lambda params: progress.append(bytes(params)))
                called = await client.ask("tools/call", {"name": "test_tool_with_progress", "arguments": {}}, waiting)
                assert msgspec.json.decode(called)["content"]
                assert len(progress) == 3
                while not changes.is_set():  # what changes before the stream of changes is open is told to nobody
                    await client.ask("tools/call", {"name": "change", "arguments": {"what": "tools"}})
                assert len((await client.entries("tools")).entries) >= len(tools)
            finally:
                await client.close()

    run(test())


@pytest.mark.parametrize("protocol", ["auto", "handshake"])
def test_another_binnacle_is_a_server_like_any_other(tmp_path, protocol):
    subprocess.run(["git", "init", "--quiet", str(tmp_path / "repo")], check=True, timeout=60)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("BN_", "XDG_"))}
    env |= {"BN_DATA_DIR": str(tmp_path / "data"), "XDG_CONFIG_HOME": str(tmp_path / "config"), "BN_USER": "ann"}
    command = [str(Path(sys.executable).with_name("bn")), "mcp", "serve", "--http", "0", "--token", SECRET]

    async def test(url: str) -> None:
        auth = Auth(SECRET)
        async with http_client.new_session() as session:
            client = McpClient(
                lambda receive: StreamableHttpTransport(config(url), receive, session=session, credentials=auth),
                name="far",
                on_change=lambda *_: None,
            )
            try:
                await client.connect(protocol)
                assert (await client.entries("tools")).entries
                calls = [client.ask("tools/call", {"name": "task_list", "arguments": {}}) for _ in range(16)]
                assert all(not msgspec.json.decode(one).get("isError") for one in await asyncio.gather(*calls))
            finally:
                await client.close()

    with Server(command=command, cwd=tmp_path / "repo", env=env) as bn:
        assert bn.process.stdout is not None
        run(test(json.loads(bn.process.stdout.readline())["url"]))
        bn.terminate()
        assert bn.wait() == 0


def test_the_handshake_era_keeps_its_session_and_ends_it():
    async def script(asked: Asked) -> bool:
        match asked.method, asked.rpc:
            case "POST", "initialize":
                await asked.result({"protocolVersion": OLD}, mcp_session_id="abc")
            case "POST", "notifications/initialized":
                await asked.reply(202)
            case "POST", _:
                await asked.result()
            case "GET", _:
                await asked.reply(405)
            case "DELETE", _:
                await asked.reply(204)
        return True

    async def test() -> None:
        async with peer(script) as far:
            async with line(StreamableHttpTransport, far.url, headers={"X-Team": "blue"}) as wire:
                await wire.ask(1, "initialize")
                wire.link.version = OLD
                await wire.link.tell(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
                await wire.ask(2, "tools/call", "tool")
            first, *later = [asked.headers for asked in far.asked]
            assert "mcp-session-id" not in first
            assert "mcp-protocol-version" not in first
            assert first["accept"] == "application/json, text/event-stream"
            assert first["content-type"] == "application/json"
            assert all(headers["mcp-session-id"] == "abc" for headers in later)
            assert all(headers["mcp-protocol-version"] == OLD for headers in later)
            assert all("mcp-method" not in headers and headers["x-team"] == "blue" for headers in later)
            assert far.asked[-1].method == "DELETE"

    run(test())


def test_the_stateless_era_repeats_in_headers_what_the_message_says():
    async def script(asked: Asked) -> bool:
        await asked.result(mcp_session_id="not wanted")
        return True

    async def test() -> None:
        async with peer(script) as far:
            async with line(StreamableHttpTransport, far.url, version=NEW) as wire:
                await wire.ask(1, "tools/call", "größer", headers=(("Mcp-Param-Where", " here"),))
                await wire.ask(2, "tools/list")
                await wire.link.tell(b'{"jsonrpc":"2.0","method":"notifications/whatever"}')
            called, listed = [asked.headers for asked in far.asked]
            assert called["mcp-protocol-version"] == NEW
            assert called["mcp-method"] == "tools/call"
            assert called["mcp-name"] == "=?base64?Z3LDtsOfZXI=?="
            assert called["mcp-param-where"] == "=?base64?IGhlcmU=?="
            assert listed["mcp-method"] == "tools/list"
            assert "mcp-name" not in listed
            assert "mcp-session-id" not in listed

    run(test())


def test_connections_are_used_again():
    async def script(asked: Asked) -> bool:
        if asked.message["id"] % 2:
            await asked.result()
        else:
            body = event(answer(asked.message["id"]))
            await asked.reply(200, body, "text/event-stream")
        return True

    async def test() -> None:
        async with peer(script) as far, line(StreamableHttpTransport, far.url, version=NEW) as wire:
            for number in range(10):
                await wire.ask(number)
            assert far.connections == 1

    run(test())


def test_a_large_message_goes_out_and_comes_back():
    async def script(asked: Asked) -> bool:
        await asked.result({"size": len(asked.body), "text": "x" * (10 << 20)})
        return True

    async def test() -> None:
        async with peer(script) as far, line(StreamableHttpTransport, far.url) as wire:
            found = result_of(await wire.ask(1, "tools/call", "y" * (3 << 20)))
            assert found["size"] > 3 << 20
            assert len(found["text"]) == 10 << 20

    run(test())


# Answers


def asking(*chunks: bytes, version: str = NEW) -> tuple[Response, list]:
    """Asks a server that answers with a stream of these chunks; the answer, and what came before it."""

    async def script(asked: Asked) -> None:
        await asked.stream()
        for chunk in chunks:
            await asked.raw(chunk)
            await asyncio.sleep(0)

    async def test() -> tuple[Response, list]:
        async with peer(script) as far, line(StreamableHttpTransport, far.url, version=version) as wire:
            return await wire.ask(1), list(wire.received)

    return run(test())


def test_what_comes_before_the_answer_is_handed_on_with_the_request_it_belongs_to():
    question = b'{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}}'
    found, received = asking(event(PROGRESS), b": still here\n\n", event(question), event(answer(1, {"a": 1})))
    assert result_of(found) == {"a": 1}
    assert [type(message) for message, _ in received] == [Notification, Request]
    assert {request_id for _, request_id in received} == {b"1"}


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_lines_may_end_anyhow_and_chunks_anywhere(end, size):
    lines = [
        "\ufeff: hello",
        "event: message",
        "id: 1",
        'data: {"jsonrpc":"2.0","id":1,',
        'data: "result":{"a":"日本"}}',
        "",
    ]
    data = "".join(one + end for one in lines).encode()
    found, _ = asking(*(data[at : at + size] for at in range(0, len(data), size)))
    assert result_of(found) == {"a": "日本"}


def test_bytes_that_are_no_text_are_replaced():
    found, _ = asking(event(b'{"jsonrpc":"2.0","id":1,"result":{"a":"\xff\xfe"}}'))
    assert result_of(found) == {"a": "��"}


def test_the_first_answer_counts():
    found, received = asking(event(answer(2, "other")), event(answer(1, "first")) + event(answer(1, "second")))
    assert result_of(found) == "first"
    assert received == []


def test_events_of_other_kinds_are_passed_over():
    found, received = asking(event(PROGRESS, "event: ping"), event(b"", "id: 5"), event(b"junk"), event(answer(1)))
    assert result_of(found) == {}
    assert received == []


def test_several_messages_in_one_body_are_taken_apart():
    async def script(asked: Asked) -> None:
        await asked.reply(200, b"[%b,%b]" % (PROGRESS, answer(1, "x")))

    async def test() -> None:
        async with peer(script) as far, line(StreamableHttpTransport, far.url, version="2025-03-26") as wire:
            assert result_of(await wire.ask(1)) == "x"
            assert wire.methods == ["notifications/progress"]

    run(test())


def test_an_answer_that_says_it_is_something_else_is_taken_all_the_same():
    async def script(asked: Asked) -> None:
        await asked.reply(200, answer(1, "x"), "text/plain")

    async def test() -> None:
        async with peer(script) as far, line(StreamableHttpTransport, far.url) as wire:
            assert result_of(await wire.ask(1)) == "x"

    run(test())


# Answers that are none


def failing(script, error: type[Exception], *, version: str = NEW, **more) -> Exception:
    """Asks a server in vain; what comes of it. The link is still there."""

    async def test() -> Exception:
        async with (
            peer(script) as far,
            line(StreamableHttpTransport, far.url + "?key=swordfish", version=version, **more) as wire,
        ):
            with pytest.raises(error) as found:
                await wire.ask(1)
            assert not wire.link.ended.done()
            assert SECRET not in str(found.value)
            return found.value

    return run(test())


def replying(status: int, body: bytes = b"", kind: str = "text/plain", **headers: str):
    async def script(asked: Asked) -> bool:
        await asked.reply(status, body, kind, **headers)
        return True

    return script


@pytest.mark.parametrize(
    ("status", "error"),
    [
        *((status, RpcError) for status in (400, 404, 405, 413)),
        (401, UpstreamLogin),
        (403, UpstreamError),
        (429, UpstreamBusy),
        *((status, UpstreamDown) for status in (500, 502, 503)),
    ],
)
def test_a_refusal_names_the_status_and_what_was_said(status, error):
    found = failing(replying(status, b"no way\x1b[31m\n\n" + b"x" * 5000), error)
    assert f"far answered {status} Whatever: no way" in str(found)
    assert "\x1b" not in str(found)
    assert len(str(found)) < 300
    if isinstance(found, RpcError):
        assert found.code == INTERNAL_ERROR


def test_a_server_that_asks_for_patience_is_quoted():
    assert "7 s" in failing(replying(503, retry_after="7"), UpstreamDown).hint


@pytest.mark.parametrize("status", [400, 403, 404, 500])
def test_an_error_in_a_refusal_is_the_answer(status):
    body = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"too new"}}'

    async def test() -> None:
        async with peer(replying(status, body)) as far, line(StreamableHttpTransport, far.url, version=NEW) as wire:
            found = await wire.ask(1)
            assert found.id == b"1"
            assert json.loads(found.error or b"")["code"] == -32022

    run(test())


def test_what_is_no_message_is_shown():
    found = failing(replying(200, b"<html>Sign in to the hotel</html>", "text/html"), RpcError)
    assert "text/html" in str(found)
    assert "Sign in to the hotel" in str(found)


def test_a_request_that_was_only_accepted_has_no_answer():
    assert "202" in str(failing(replying(202), RpcError))


def test_a_message_that_is_too_long_is_refused(monkeypatch):
    monkeypatch.setattr(http_client, "MAX_MESSAGE_BYTES", 1 << 20)
    monkeypatch.setattr(streamable_http, "MAX_MESSAGE_BYTES", 1 << 20)
    assert "1 MiB" in str(failing(replying(200, b"[" * (2 << 20)), UpstreamError))
    bomb = gzip.compress(b" " * (64 << 20))
    assert len(bomb) < 1 << 20
    assert "1 MiB" in str(failing(replying(200, bomb, content_encoding="gzip"), UpstreamError))

    async def endless(asked: Asked) -> None:
        await asked.stream(b"data: ")
        while not asked.writer.is_closing():
            await asked.raw(b"x" * 65536)

    assert "1 MiB" in str(failing(endless, UpstreamError))

    async def endless_lines(asked: Asked) -> None:
        await asked.stream()
        while not asked.writer.is_closing():
            await asked.raw(b"data: x\n" * 5000)

    assert "1 MiB" in str(failing(endless_lines, UpstreamError))


def test_headers_without_end_are_refused():
    async def script(asked: Asked) -> None:
        await asked.reply(200, b"{}", x_giant="y" * 100_000)

    assert "no HTTP" in str(failing(script, UpstreamDown))


def test_many_headers_are_refused():
    async def script(asked: Asked) -> None:
        await asked.reply(200, b"{}", **{f"x_{number}": "y" for number in range(5000)})

    assert "no HTTP" in str(failing(script, UpstreamDown))


def test_what_is_no_http_is_said_to_be_none():
    async def script(asked: Asked) -> None:
        await asked.raw(b"SSH-2.0-OpenSSH_9.6\r\n")

    assert "no HTTP" in str(failing(script, UpstreamDown))


def test_a_connection_closed_before_the_answer_fails_this_request_only():
    async def script(asked: Asked) -> bool:
        if asked.message["id"] == 1:
            return False
        await asked.result("ok")
        return True

    async def test() -> None:
        async with peer(script) as far, line(StreamableHttpTransport, far.url) as wire:
            with pytest.raises(UpstreamDown, match="closed the connection without an answer"):
                await wire.ask(1)
            assert result_of(await wire.ask(2)) == "ok"

    run(test())


def test_a_connection_reset_in_the_answer_fails_this_request_only():
    async def script(asked: Asked) -> None:
        await asked.raw(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{")
        asked.writer.transport.abort()

    assert "127.0.0.1:" in str(failing(script, UpstreamDown))


@pytest.mark.parametrize("cut", [b"", b"data: {", event(PROGRESS), event(PROGRESS, "id: 7")])
def test_a_stream_that_ends_without_the_answer_fails_this_request_only(cut):
    async def script(asked: Asked) -> None:
        await asked.stream(cut)

    failing(script, UpstreamDown)


def test_a_server_that_is_not_there_ends_the_link():
    async def script(asked: Asked) -> None: ...

    async def test() -> None:
        async with peer(script) as far:
            url = far.url
        async with line(StreamableHttpTransport, url + "?key=swordfish") as wire:
            with pytest.raises(UpstreamDown) as found:
                await wire.ask(1)
            assert "127.0.0.1:" in found.value.message
            assert "Connection refused" in found.value.message
            assert SECRET not in found.value.message
            assert wire.link.ended.result() == found.value.message
            with pytest.raises(UpstreamDown):
                await wire.ask(2)

    run(test())


@pytest.mark.parametrize(
    ("url", "text"),
    [("http://nobody.invalid/mcp", "nobody.invalid:80 cannot be found"), ("https://127.0.0.1:{port}/", "TLS")],
)
def test_a_server_that_cannot_be_reached_is_named(url, text):
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async def test() -> None:
        async with await asyncio.start_server(plain, "127.0.0.1", 0) as listener:
            port = listener.sockets[0].getsockname()[1]
            async with line(StreamableHttpTransport, url.format(port=port)) as wire:
                with pytest.raises(UpstreamDown, match=text):
                    await wire.ask(1)
                assert wire.link.ended.done()

    run(test())


def test_a_server_that_takes_no_connection_is_not_waited_for_long():
    async def test() -> None:
        with socket.socket() as full:
            full.bind(("127.0.0.1", 0))
            full.listen(0)
            with contextlib.ExitStack() as stack:
                for _ in range(8):
                    one = stack.enter_context(socket.socket())
                    one.setblocking(False)
                    one.connect_ex(full.getsockname())
                url = f"http://127.0.0.1:{full.getsockname()[1]}/"
                async with line(StreamableHttpTransport, url, connect_timeout=0.2) as wire:
                    with pytest.raises(UpstreamDown, match="took no connection in time"):
                        await wire.ask(1)
                    assert wire.link.ended.done()

    run(test())


def test_a_header_that_cannot_be_sent_is_no_reason_to_try_again():
    found = failing(replying(200), UpstreamError, headers={"X-Bad": "a\r\nb"})
    assert not isinstance(found, UpstreamDown)


# Who we are


def test_refused_in_the_middle_we_say_better_who_we_are_and_ask_again():
    async def script(asked: Asked) -> bool:
        if asked.headers.get("authorization") == "Bearer new":
            await asked.result("welcome")
        else:
            await asked.reply(401, www_authenticate='Bearer error="invalid_token"')
        return True

    async def test() -> None:
        auth = Auth("old", "new")
        async with peer(script) as far, line(StreamableHttpTransport, far.url, auth=auth) as wire:
            assert result_of(await wire.ask(1)) == "welcome"
            assert auth.challenges == [(401, 'Bearer error="invalid_token"')]
            assert result_of(await wire.ask(2)) == "welcome"
            assert len(far.asked) == 3

    run(test())


def test_refused_twice_we_ask_no_more():
    async def test() -> None:
        auth = Auth("a", "b", "c", "d")
        async with peer(replying(401)) as far, line(StreamableHttpTransport, far.url, auth=auth) as wire:
            with pytest.raises(UpstreamLogin) as found:
                await wire.ask(1)
            assert "bn upstream login far" in found.value.hint
            assert len(far.asked) == 2

    run(test())


def test_our_own_server_refuses_a_wrong_token(server):
    async def test() -> None:
        async with line(StreamableHttpTransport, server.url, auth=Auth("wrong")) as wire:
            with pytest.raises(UpstreamLogin, match="a bearer token is needed"):
                await wire.ask(1, "initialize")

    run(test())


# Redirects


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_within_the_origin_is_followed(status):
    async def script(asked: Asked) -> bool:
        if asked.path == "/mcp":
            await asked.reply(status, location="/mcp/?x=1")
        else:
            await asked.result(asked.method + asked.path)
        return True

    async def test() -> None:
        async with peer(script) as far, line(StreamableHttpTransport, far.url, auth=Auth(SECRET)) as wire:
            assert result_of(await wire.ask(1)) == "POST/mcp/?x=1"

    run(test())


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize(
    "where", ["http://127.0.0.1:{port}/steal?key=1", "//localhost:{port}/steal", "https://127.0.0.1:1/"]
)
def test_a_redirect_out_of_the_origin_is_not_followed(status, where):
    async def test() -> None:
        async with peer(replying(200)) as thief:
            target = where.format(port=thief.port)
            script = replying(status, location=target)
            async with peer(script) as far, line(StreamableHttpTransport, far.url, auth=Auth(SECRET)) as wire:
                with pytest.raises(UpstreamError, match="redirects to http") as found:
                    await wire.ask(1)
                assert target.split("?")[0].split("//")[1] in found.value.message
                assert "key=1" not in found.value.message
            assert thief.connections == 0

    run(test())


@pytest.mark.parametrize("where", ["/mcp", "", "http://[", "javascript:alert(1)"])
def test_a_redirect_that_leads_nowhere_is_not_followed_for_ever(where):
    async def test() -> None:
        async with peer(replying(308, location=where)) as far, line(StreamableHttpTransport, far.url) as wire:
            with pytest.raises(UpstreamError, match="redirects"):
                await wire.ask(1)
            assert len(far.asked) <= http_client.MAX_REDIRECTS

    run(test())


# Streams that break off, and sessions that end


def in_session(script):
    """A server with a session, whose script answers everything but the handshake."""

    async def whole(asked: Asked) -> object:
        if asked.rpc == "initialize":
            await asked.result({"protocolVersion": OLD}, mcp_session_id="abc")
            return True
        if asked.rpc == "notifications/initialized":
            await asked.reply(202)
            return True
        return await script(asked)

    return whole


async def greet(wire) -> None:
    await wire.ask(1000, "initialize")
    wire.link.version = OLD
    await wire.link.tell(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')


def test_a_stream_that_breaks_off_is_taken_up_where_it_was():
    async def script(asked: Asked) -> object:
        if asked.method == "POST":
            await asked.stream(event(PROGRESS, "id: one", "retry: 20"), b"id: two\ndata: {")
        elif asked.headers.get("last-event-id") == "one":
            await asked.stream(event(PROGRESS, "id: two"))
        elif asked.headers.get("last-event-id") == "two":
            await asked.stream(event(answer(1, "at last"), "id: three"))
        else:
            await asked.reply(405)
        return False

    async def test() -> None:
        async with peer(in_session(script)) as far, line(StreamableHttpTransport, far.url) as wire:
            await greet(wire)
            assert result_of(await wire.ask(1)) == "at last"
            assert wire.methods == ["notifications/progress"] * 2
            assert {request_id for _, request_id in wire.received} == {b"1"}
            resumed = [asked for asked in far.asked if "last-event-id" in asked.headers]
            assert [asked.headers["mcp-session-id"] for asked in resumed] == ["abc", "abc"]

    run(test())


def test_a_stream_that_brings_nothing_new_is_given_up():
    async def script(asked: Asked) -> object:
        if asked.method == "GET" and "last-event-id" not in asked.headers:
            return await asked.reply(405)
        return await asked.stream(event(PROGRESS, "id: one", "retry: 1") if asked.method == "POST" else b"")

    async def test() -> None:
        async with peer(in_session(script)) as far, line(StreamableHttpTransport, far.url) as wire:
            await greet(wire)
            with pytest.raises(UpstreamDown, match="without an answer"):
                await wire.ask(1)
            assert sum("last-event-id" in asked.headers for asked in far.asked) == streamable_http.MAX_IDLE_RESUMES
            assert not wire.link.ended.done()

    run(test())


def test_what_belongs_to_no_request_comes_on_a_stream_of_its_own_that_is_opened_again():
    async def script(asked: Asked) -> object:
        if asked.method != "GET":
            return await asked.reply(204)
        if "last-event-id" not in asked.headers:
            return await asked.stream(event(PROGRESS, "id: one", "retry: 1"))
        await asked.stream(event(PROGRESS, "id: two"))
        return await far_of[0].wait_until_hung_up(asked)

    far_of: list[Peer] = []

    async def test() -> None:
        async with peer(in_session(script)) as far:
            far_of.append(far)
            async with line(StreamableHttpTransport, far.url) as wire:
                await greet(wire)
                await wire.wait_for(2)
                assert {request_id for _, request_id in wire.received} == {b""}
            await far.hung_up.wait()
            assert [asked.method for asked in far.asked][-1] == "DELETE"

    run(test())


def test_a_session_that_the_server_forgot_ends_the_link():
    async def script(asked: Asked) -> object:
        if asked.method == "GET":
            return await asked.reply(405)
        return await asked.reply(404, b'{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"no such session"}}')

    async def test() -> None:
        async with peer(in_session(script)) as far, line(StreamableHttpTransport, far.url) as wire:
            await greet(wire)
            with pytest.raises(UpstreamDown, match="no longer knows our session"):
                await wire.ask(1)
            assert "session" in wire.link.ended.result()
        assert all(asked.method != "DELETE" for asked in far.asked)

    run(test())


# Ends


@pytest.mark.parametrize("version", [OLD, NEW])
@pytest.mark.parametrize("kind", ["silent", "streaming"])
def test_a_cancelled_request_is_hung_up_on(version, kind):
    far_of: list[Peer] = []
    begun, told = asyncio.Event(), asyncio.Event()

    async def script(asked: Asked) -> object:
        if asked.rpc == "notifications/cancelled":
            told.set()
            return await asked.reply(202)
        begun.set()
        if kind == "streaming":
            await asked.stream(event(PROGRESS))
        return await far_of[0].wait_until_hung_up(asked)

    async def test() -> None:
        async with peer(script) as far, line(StreamableHttpTransport, far.url, version=version) as wire:
            far_of.append(far)
            asking = asyncio.ensure_future(wire.ask(1))
            await begun.wait()
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            await far.hung_up.wait()
            if version == OLD:
                await told.wait()
                assert far.asked[1].message["params"]["requestId"] == 1
        assert len(far.asked) == (2 if version == OLD else 1)

    run(test())


def test_closing_ends_what_is_under_way_and_leaves_nothing_open():
    async def script(asked: Asked) -> None:
        if asked.method == "DELETE":
            await asyncio.sleep(1000)
        elif asked.method == "GET" or asked.message["id"] % 2:
            await asked.stream(event(PROGRESS))
            await asyncio.sleep(1000)
        else:
            await asyncio.sleep(1000)

    async def test() -> None:
        before = descriptors()
        async with peer(in_session(script)) as far:
            async with line(StreamableHttpTransport, far.url) as wire:
                await greet(wire)
                asking = [asyncio.ensure_future(wire.ask(number)) for number in range(20)]
                await wire.wait_for(11)
            found = await asyncio.gather(*asking, return_exceptions=True)
            assert {type(one) for one in found} == {UpstreamDown}
            assert "was closed" in str(found[0])
        await asyncio.sleep(0)
        assert descriptors() == before

    run(test())


def test_a_server_that_dies_is_noticed_by_its_stream(server):
    async def test() -> None:
        with Http() as mortal:
            async with line(StreamableHttpTransport, mortal.url) as wire:
                params = {"protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
                hello = request(1, "initialize")
                message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode()
                await wire.link.ask(hello._replace(message=message))
                wire.link.version = OLD
                await wire.link.tell(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
                mortal.process.kill()
                assert "cannot be reached" in await wire.link.ended

    run(test())
