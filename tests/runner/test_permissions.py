"""Which requests of an agent are allowed, and by which of its options."""

import asyncio

import pytest

from binnacle.runner.permissions import (
    APPROVALS,
    Decision,
    OwnTools,
    PermissionRequest,
    by_policy,
    decide,
    outcome_of,
)
from binnacle.wire import acp

OWN = OwnTools(server="binnacle", tools=("task-add", "iteration-summary"))
ALL = ("allow_always", "reject_always", "allow_once", "reject_once")


def request(kind: str = "other", title: str = "x", *options: str, name: str = "") -> PermissionRequest:
    offered = tuple(acp.PermissionOption(option_id=f"id-{one}", kind=one) for one in options or ALL)
    return PermissionRequest(tool_call_id="c", title=title, kind=kind, name=name, options=offered)


def answer(approve: str, asked: PermissionRequest, person=None) -> Decision:
    return asyncio.run(by_policy(approve, own=OWN, person=person)(asked))


class TestPolicies:
    @pytest.mark.parametrize("kind", ["read", "search", "think", "edit", "move"])
    def test_edits_allows_what_git_can_take_back(self, kind):
        assert answer("edits", request(kind)).option_id == "id-allow_once"

    @pytest.mark.parametrize("kind", ["execute", "delete", "fetch", "other", "switch_mode", "brand_new"])
    def test_edits_rejects_everything_else(self, kind):
        assert answer("edits", request(kind)).option_id == "id-reject_once"

    def test_all_allows_and_none_rejects(self):
        assert answer("all", request("execute")).is_allowed
        assert not answer("none", request("read")).is_allowed

    @pytest.mark.parametrize("allow", [True, False])
    def test_ask_asks_the_person(self, allow):
        async def person(_: PermissionRequest) -> bool:
            return allow

        decision = answer("ask", request("execute"), person)
        assert (decision.is_allowed, decision.by) == (allow, "person")

    def test_with_nobody_to_ask_nothing_is_allowed(self):
        decision = answer("ask", request("read"))
        assert (decision.is_allowed, decision.by) == (False, "policy")


class TestOptions:
    def test_for_once_goes_before_for_always(self):
        assert decide(request(), allow=True, by="x").option_id == "id-allow_once"
        assert decide(request(), allow=False, by="x").option_id == "id-reject_once"

    def test_for_always_is_taken_where_it_is_all_there_is(self):
        asked = request("edit", "x", "allow_always", "reject_always")
        assert decide(asked, allow=True, by="x").option_id == "id-allow_always"
        assert decide(asked, allow=False, by="x").option_id == "id-reject_always"

    def test_without_a_fitting_option_the_agent_is_told_it_was_cancelled(self):
        decision = decide(request("edit", "x", "reject_once"), allow=True, by="x")
        assert not decision.is_allowed
        assert outcome_of(decision) == acp.Cancelled()
        assert outcome_of(decide(request(), allow=True, by="x")) == acp.Selected(option_id="id-allow_once")


class TestOwnTools:
    @pytest.mark.parametrize(
        "title",
        [
            "mcp__binnacle__task-add",
            "mcp_binnacle_task-add",
            "mcp.binnacle.task-add",
            "binnacle_task-add",
            "binnacle_task_add",
            "binnacle-task-add",
            "binnacle__task-add",
            "binnacle/task-add",
            "binnacle: task-add",
            "Binnacle: Task-add",
            "Tool: binnacle/task-add",
            "task-add (binnacle MCP Server)",
        ],
    )
    @pytest.mark.parametrize("approve", APPROVALS)
    def test_they_are_always_allowed_however_an_agent_names_them(self, title, approve):
        decision = answer(approve, request("other", title))
        assert (decision.is_allowed, decision.by) == (True, "own tool")

    def test_the_name_beside_the_title_counts(self):
        assert answer("none", request("other", "Add a task", name="mcp__binnacle__task-add")).is_allowed

    @pytest.mark.parametrize(
        "title",
        [
            "rm -rf / # mcp__binnacle__task-add",
            "mcp__binnacle__task-add; rm -rf /",
            "mcp__binnacle__task-add\nrm",
            "mcp__other__task-add",
            "binnacle_rm",
            "task-add",
            "binnacle",
            "",
        ],
    )
    def test_nothing_else_is(self, title):
        assert not answer("none", request("execute", title)).is_allowed

    @pytest.mark.parametrize("title", ["binnacle/run.sh", "binnacle.sh", "binnacle: rm -r x", "binnacle- rm"])
    def test_where_their_names_are_not_known_what_could_be_a_command_is_none(self, title):
        own = OwnTools(server="binnacle")
        assert not own.has(request("other", title))
        assert not own.has(request("edit", "binnacle_notes"))

    @pytest.mark.parametrize(
        "title", ["mcp__binnacle__x-y", "binnacle_x_y", "binnacle-x", "Tool: binnacle/x", "x-y (binnacle MCP Server)"]
    )
    def test_what_could_not_be_is_one(self, title):
        assert OwnTools(server="binnacle").has(request("other", title))
