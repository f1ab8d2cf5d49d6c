"""What a client on stdio hears without asking: changes, progress, logs and questions, each where its era has them."""

from typing import Any

import pytest

from server.clients import Stdio, call, cancelled, new_call, notification, request, stateless, text_of

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"


def listening(request_id: Any, **wanted: Any) -> Any:
    return request(request_id, "subscriptions/listen", stateless({"notifications": wanted}))


class TestHandshakeEra:
    @pytest.mark.parametrize("what", ["tools", "prompts", "resources"])
    def test_every_client_hears_of_changed_lists(self, stdio: Stdio, what: str):
        stdio.initialize()
        stdio.ask(call(1, "change", what=what))
        assert stdio.seen == [notification(f"notifications/{what}/list_changed")]

    def test_a_client_hears_of_resources_while_subscribed(self, stdio: Stdio):
        stdio.initialize()
        stdio.ask(call(1, "touch", uri="test://a"))
        assert stdio.ask(request(2, "resources/subscribe", {"uri": "test://a"}))["result"] == {}
        stdio.ask(call(3, "touch", uri="test://b"))
        stdio.ask(call(4, "touch", uri="test://a"))
        assert stdio.ask(request(5, "resources/unsubscribe", {"uri": "test://a"}))["result"] == {}
        stdio.ask(call(6, "touch", uri="test://a"))
        assert stdio.seen == [notification("notifications/resources/updated", {"uri": "test://a"})]

    def test_progress_and_logs_come_before_the_answer(self, stdio: Stdio):
        stdio.initialize()
        stdio.ask(request(1, "tools/call", {"name": "count", "_meta": {"progressToken": "t"}}))
        stdio.ask(call(2, "log", level="info", text="hello"))
        stdio.ask(request(3, "logging/setLevel", {"level": "error"}))
        stdio.ask(call(4, "log", level="info", text="not this"))
        assert [one["params"].get("progress") or one["params"]["data"] for one in stdio.seen] == [1, 2, 3, "hello"]

    def test_a_tool_asks_the_client_who_answers(self, stdio: Stdio):
        stdio.initialize(roots={})
        stdio.send(call(1, "ask_roots"))
        question = stdio.read()
        assert question["method"] == "roots/list"
        stdio.send({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": [1, 2]}})
        assert text_of(stdio.answer(1)) == "2 roots"

    def test_a_question_ends_with_the_request_it_is_about(self, stdio: Stdio):
        stdio.initialize(roots={})
        stdio.send(call(1, "ask_roots"))
        question = stdio.read()
        stdio.send(cancelled(1), {"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}})
        assert stdio.ask(request(2, "ping"))["result"] == {}
        assert stdio.seen == []


class TestStatelessEra:
    def test_nobody_hears_of_changes_who_did_not_ask(self, stdio: Stdio):
        stdio.ask(new_call(1, "change", what="tools"))
        stdio.ask(new_call(2, "touch", uri="test://a"))
        assert stdio.seen == []

    def test_each_listener_hears_what_it_asked_for_under_its_id(self, stdio: Stdio):
        stdio.send(listening("a", toolsListChanged=True), listening(7, resourceSubscriptions=["test://a"]))
        for _ in range(2):
            assert stdio.read()["method"] == "notifications/subscriptions/acknowledged"
        stdio.ask(new_call(1, "change", what="tools"))
        stdio.ask(new_call(2, "touch", uri="test://a"))
        stdio.ask(new_call(3, "touch", uri="test://b"))
        assert [(one["method"], one["params"]["_meta"][SUBSCRIPTION]) for one in stdio.seen] == [
            ("notifications/tools/list_changed", "a"),
            ("notifications/resources/updated", 7),
        ]

    def test_a_listener_that_cancels_hears_no_more_and_gets_no_answer(self, stdio: Stdio):
        stdio.send(listening("a", toolsListChanged=True))
        stdio.read()
        stdio.send(cancelled("a"), cancelled("a"))
        stdio.ask(new_call(1, "change", what="tools"))
        assert stdio.seen == []

    def test_a_listener_that_asks_again_under_its_id_hears_only_what_it_asked_for_last(self, stdio: Stdio):
        stdio.send(listening("a", toolsListChanged=True), listening("a", promptsListChanged=True))
        stdio.read(), stdio.read()
        stdio.ask(new_call(1, "change", what="tools"))
        stdio.ask(new_call(2, "change", what="prompts"))
        assert [one["method"] for one in stdio.seen] == ["notifications/prompts/list_changed"]

    def test_logs_come_only_with_a_request_that_asks_for_them(self, stdio: Stdio):
        stdio.ask(new_call(1, "log", level="error", text="not this"))
        level = {"io.modelcontextprotocol/logLevel": "info"}
        params = stateless({"name": "log", "arguments": {"level": "info", "text": "hello"}}, **level)
        stdio.ask(request(2, "tools/call", params))
        assert [one["params"]["data"] for one in stdio.seen] == ["hello"]
