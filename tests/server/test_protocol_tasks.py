"""Tool calls that become tasks of the protocol, in both eras and on both transports."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from server.clients import Http, Message, Stdio, call, cancelled, request, stateless, text_of, wait_for

EXTENSION = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
MISSING = {"requiredCapabilities": EXTENSION}


class Client:
    """A client of one era on one transport."""

    def __init__(self, server: Stdio | Http, era: str) -> None:
        self.server = server
        self.era = era
        self.headers: dict[str, Any] = {}
        self._count = 0
        if era == "handshake" and isinstance(server, Http):
            self.headers = server.session()
        elif era == "handshake":
            server.initialize()

    def message(self, method: str, params: Message | None = None, *, takes_tasks: bool = True) -> Message:
        self._count += 1
        if self.era == "stateless":
            return request(self._count, method, stateless(params, **{CAPABILITIES: EXTENSION if takes_tasks else {}}))
        return request(self._count, method, params)

    def exchange(self, message: Message) -> Message:
        return self.server.ask(message, **self.headers)

    def ask(self, method: str, params: Message | None = None, **options: Any) -> Message:
        """The result of a request."""
        answer = self.exchange(self.message(method, params, **options))
        assert "result" in answer, answer
        return answer["result"]

    def refusal(self, method: str, params: Message | None = None, **options: Any) -> Message:
        return self.exchange(self.message(method, params, **options))["error"]

    def begin(self, tool: str, **arguments: Any) -> Message:
        """The task that a call becomes."""
        params: Message = {"name": tool, "arguments": arguments}
        if self.era == "stateless":
            result = self.ask("tools/call", params)
            assert result["resultType"] == "task"
            return result
        return self.ask("tools/call", {**params, "task": {"ttl": 60000}})["task"]

    def get(self, task: str) -> Message:
        return self.ask("tasks/get", {"taskId": task})

    def wait(self, task: str) -> Message:
        """A task once it is over."""
        wait_for(lambda: self.get(task)["status"] != "working", "the task does not end")
        return self.get(task)

    def use(self, tool: str, **arguments: Any) -> str:
        return self.ask("tools/call", {"name": tool, "arguments": arguments}, takes_tasks=False)["content"][0]["text"]


@pytest.fixture(params=["stdio", "http"])
def server(request) -> Iterator[Stdio | Http]:
    with Stdio() if request.param == "stdio" else Http() as server:
        yield server


@pytest.fixture(params=["handshake", "stateless"])
def client(request, server) -> Client:
    return Client(server, request.param)


@pytest.fixture
def modern(server) -> Client:
    return Client(server, "stateless")


@pytest.fixture
def name() -> str:
    return uuid4().hex


def test_a_long_call_is_answered_with_a_task_that_has_its_result_later(client: Client, name: str):
    begun = client.begin("hold_long", name=name)
    units = ("ttlMs", "pollIntervalMs") if client.era == "stateless" else ("ttl", "pollInterval")
    assert begun["status"] == "working"
    assert all(isinstance(begun[unit], int) and begun[unit] > 0 for unit in units)
    client.use("wait_until", name=name, state="holding")
    task = client.get(begun["taskId"])
    assert (task["status"], task["statusMessage"]) == ("working", "it is held")
    client.use("release", name=name)
    ended = client.wait(begun["taskId"])
    assert ended["status"] == "completed"
    if client.era == "stateless":
        result = ended["result"]
        assert result["resultType"] == "complete"
    else:
        assert "result" not in ended
        result = client.ask("tasks/result", {"taskId": begun["taskId"]})
        assert result["_meta"]["io.modelcontextprotocol/related-task"] == {"taskId": begun["taskId"]}
    assert result["content"][0]["text"] == f"{name} was released"


def test_a_result_is_waited_for_in_2025_11_25(server, name: str):
    client = Client(server, "handshake")
    task = client.begin("slow_compute", label=name, seconds=0)["taskId"]
    assert client.ask("tasks/result", {"taskId": task})["content"][0]["text"] == f"{name} is computed"


def test_a_cancelled_task_ends_its_call(client: Client, name: str):
    task = client.begin("hold_long", name=name)["taskId"]
    client.use("wait_until", name=name, state="holding")
    answer = client.ask("tasks/cancel", {"taskId": task})
    assert client.use("wait_until", name=name, state="cancelled") == "ok"
    assert client.get(task)["status"] == "cancelled"
    if client.era == "stateless":
        assert set(answer) == {"resultType", "_meta"}
        assert client.ask("tasks/cancel", {"taskId": task})["resultType"] == "complete"  # once more does no harm
    else:
        assert answer["status"] == "cancelled"
        assert client.refusal("tasks/cancel", {"taskId": task})["code"] == -32602


def test_a_tool_that_fails_has_completed_or_failed_as_its_era_has_it(client: Client):
    task = client.wait(client.begin("failing_job")["taskId"])
    assert task["status"] == ("completed" if client.era == "stateless" else "failed")
    broken = client.begin("protocol_error_job")["taskId"]
    task = client.wait(broken)
    assert (task["status"], task["statusMessage"]) == ("failed", "the job has failed")
    error = {"code": -32603, "message": "the job has failed", "data": {"why": "it is a test"}}
    if client.era == "stateless":
        assert task["error"] == error
    else:
        assert client.refusal("tasks/result", {"taskId": broken}) == error


@pytest.mark.parametrize("method", ["tasks/get", "tasks/cancel"])
def test_an_unknown_task_is_an_invalid_parameter(client: Client, method: str):
    assert client.refusal(method, {"taskId": "none"})["code"] == -32602


def test_nobody_else_finds_a_task(server: Http | Stdio, name: str):
    if isinstance(server, Stdio):
        return  # it has one client
    one, other = Client(server, "handshake"), Client(server, "handshake")
    task = one.begin("hold_long", name=name)["taskId"]
    for method in ("tasks/get", "tasks/result", "tasks/cancel"):
        assert other.refusal(method, {"taskId": task})["code"] == -32602
    assert Client(server, "stateless").refusal("tasks/get", {"taskId": task})["code"] == -32602
    assert one.get(task)["status"] == "working"


def test_a_request_without_the_extension_gets_no_task_and_may_not_ask(modern: Client, name: str):
    answer = modern.ask("tools/call", {"name": "slow_compute", "arguments": {"label": name, "seconds": 0}})
    assert answer["resultType"] == "task"
    plain = {"name": "slow_compute", "arguments": {"label": name, "seconds": 0}, "task": {"ttl": 1}}
    result = modern.ask("tools/call", plain, takes_tasks=False)
    assert (result["resultType"], result["content"][0]["text"]) == ("complete", f"{name} is computed")
    for method in ("tasks/get", "tasks/update", "tasks/cancel"):
        error = modern.refusal(method, {"taskId": answer["taskId"], "inputResponses": {}}, takes_tasks=False)
        assert (error["code"], error["data"]) == (-32021, MISSING)
    listen = {"notifications": {"taskIds": [answer["taskId"]]}}
    assert modern.refusal("subscriptions/listen", listen, takes_tasks=False)["code"] == -32021


def test_each_version_is_told_of_what_it_knows(server):
    modern = Client(server, "stateless")
    found = modern.ask("server/discover")["capabilities"]
    assert "tasks" not in found
    assert found["extensions"] == EXTENSION["extensions"]
    for method in ("tasks/result", "tasks/list"):
        assert modern.refusal(method, {"taskId": "x"})["code"] == -32601


@pytest.mark.parametrize(("version", "has_tasks"), [("2025-06-18", False), ("2025-11-25", True)])
def test_only_the_version_that_has_tasks_is_told_of_them(version: str, has_tasks: bool):
    with Stdio() as server:
        found = server.initialize(version)["result"]["capabilities"]
        assert ("tasks" in found) == has_tasks
        assert "extensions" not in found
        params = {"name": "slow_compute", "arguments": {"label": "x", "seconds": 0}, "task": {}}
        result = server.ask(request(1, "tools/call", params))["result"]
        assert ("task" in result) == has_tasks
        unknown = server.ask(request(2, "tasks/get", {"taskId": "x"}))["error"]["code"]
        assert unknown == (-32602 if has_tasks else -32601)
        assert server.ask(request(3, "tasks/update", {"taskId": "x"}))["error"]["code"] == -32601


def test_a_task_for_a_short_tool_is_refused_in_2025_11_25():
    with Stdio() as server:
        server.initialize()
        params = {"name": "echo", "arguments": {"text": "x"}, "task": {}}
        assert server.ask(request(1, "tools/call", params))["error"]["code"] == -32601


def test_a_client_has_so_many_tasks_and_no_more(modern: Client, name: str):
    for number in range(32):
        modern.begin("hold_long", name=f"{name} {number}")
    params = {"name": "slow_compute", "arguments": {"label": name, "seconds": 0}}
    assert modern.ask("tools/call", params)["resultType"] == "complete"


def test_a_call_that_is_cancelled_before_it_is_a_task_ends(name: str):
    with Stdio() as server:
        server.initialize()
        server.send(call(1, "hold", name=name))
        assert text_of(server.ask(call(2, "wait_until", name=name, state="holding"))) == "ok"
        server.send(cancelled(1))
        assert text_of(server.ask(call(3, "wait_until", name=name, state="cancelled"))) == "ok"


def test_a_listener_hears_of_its_tasks_until_they_are_over(name: str):
    with Stdio() as server:
        client = Client(server, "stateless")
        task = client.begin("hold_long", name=name)["taskId"]
        listen = client.message("subscriptions/listen", {"notifications": {"taskIds": [task, "unknown"]}})
        server.send(listen)
        acknowledged = server.read()
        assert acknowledged["params"]["notifications"] == {"taskIds": [task]}
        client.use("release", name=name)
        wait_for(lambda: client.get(task)["status"] == "completed", "the task does not end")
        told = [one["params"] for one in server.seen if one["method"] == "notifications/tasks"]
        assert told[-1]["status"] == "completed"
        assert told[-1]["result"]["content"][0]["text"] == f"{name} was released"
        assert {one["_meta"][SUBSCRIPTION] for one in told} == {listen["id"]}


def test_a_client_of_2025_11_25_is_told_without_asking(name: str):
    with Stdio() as server:
        client = Client(server, "handshake")
        task = client.begin("hold_long", name=name)["taskId"]
        client.use("wait_until", name=name, state="holding")
        client.use("release", name=name)
        client.ask("tasks/result", {"taskId": task})
        client.ask("ping")
        told = [one["params"] for one in server.seen if one["method"] == "notifications/tasks/status"]
        assert [one["status"] for one in told] == ["working", "completed"]
        assert told[0]["statusMessage"] == "it is held"


def test_progress_of_a_task_is_not_sent_as_progress(modern: Client, name: str):
    message = modern.message("tools/call", {"name": "hold_long", "arguments": {"name": name}})
    message["params"]["_meta"]["progressToken"] = "t"
    assert modern.exchange(message)["result"]["resultType"] == "task"
    modern.use("release", name=name)
    assert not [one for one in getattr(modern.server, "seen", ()) if one["method"] == "notifications/progress"]


def test_a_session_that_ends_ends_its_tasks(name: str):
    with Http() as server:
        client = Client(server, "handshake")
        client.begin("hold_long", name=name)
        client.use("wait_until", name=name, state="holding")
        server.client.delete(server.url, headers=client.headers)
        server.wait_until_said(f"{name} was cancelled")


def test_a_header_has_to_name_the_task():
    with Http() as server:
        client = Client(server, "stateless")
        task = client.begin("slow_compute", label="x", seconds=0)["taskId"]
        message = client.message("tasks/get", {"taskId": task})
        assert server.post(message).json()["result"]["taskId"] == task
        refused = server.post(message, {"mcp-name": "other"})
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32020)
        assert server.post(message, {"mcp-name": None}).json()["error"]["code"] == -32020
