"""Which requests of an agent are allowed, and by which of its options."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from binnacle.runner.agents.permissions import (
    APPROVALS,
    OwnTools,
    PermissionAnswer,
    PermissionDecision,
    PermissionRequest,
    by_policy,
    decide,
    outcome_of,
    policy_sentences,
)
from binnacle.runner.agents.tool_calls import SeenToolCalls
from binnacle.wire import acp

OWN = OwnTools(server="bns", tools=("task-add", "iteration-summary"))
ALL = ("allow_always", "reject_always", "allow_once", "reject_once")


def request(kind: str = "other", title: str = "x", *options: str, name: str = "") -> PermissionRequest:
    offered = tuple(acp.PermissionOption(option_id=f"id-{one}", kind=one) for one in options or ALL)
    return PermissionRequest(tool_call_id="c", title=title, kind=kind, name=name, options=offered)


def answer(approve: str, asked: PermissionRequest, person=None) -> PermissionDecision:
    return asyncio.run(by_policy(approve, own=lambda: OWN, person=person)(asked))


class TestPolicies:
    @pytest.mark.parametrize("kind", ["read", "search", "think", "edit", "move"])
    def test_edits_allows_what_git_can_take_back(self, kind):
        assert answer("edits", request(kind)).option_id == "id-allow_once"

    @pytest.mark.parametrize("kind", ["execute", "delete", "fetch", "other", "switch_mode", "brand_new"])
    def test_edits_rejects_everything_else(self, kind):
        assert answer("edits", request(kind)).option_id == "id-reject_once"

    @pytest.mark.parametrize("kind", ["edit", "move"])
    @pytest.mark.parametrize("sends", ["locations", "content", "input", "destination", "changes", "before"])
    @pytest.mark.parametrize(
        "path",
        [
            *(".git/hooks/pre-commit", "sub/.git/config", ".GIT/config", "sub/../.git/config", ".git"),
            *("../other/x", "/etc/hosts", "~/.bashrc", "out/x", "alias/hooks/pre-commit", "a\0b"),
        ],
    )
    def test_edits_is_about_the_work_not_about_git_nor_what_is_elsewhere(self, tmp_path, kind, sends, path):
        assert not self.edits(tmp_path, kind, sends, path).is_allowed

    @pytest.mark.parametrize("sends", ["locations", "content", "input", "destination", "changes", "before"])
    @pytest.mark.parametrize("path", ["a.py", ".gitignore", ".github/workflows/x.yml", "new/folder/b.py", "inner/x"])
    def test_edits_allows_every_file_of_the_work(self, tmp_path, sends, path):
        assert self.edits(tmp_path, "edit", sends, path).is_allowed
        assert self.edits(tmp_path, "edit", sends, str(tmp_path / "tree" / path)).is_allowed

    def edits(self, folder: Path, kind: str, sends: str, path: str) -> PermissionDecision:
        tree = folder / "tree"
        for name in (".git/hooks", "sub"):
            (tree / name).mkdir(parents=True, exist_ok=True)
        for name, target in (("out", folder), ("alias", tree / ".git"), ("inner", tree / "sub")):
            if not (tree / name).is_symlink():
                (tree / name).symlink_to(target)
        calls = SeenToolCalls()
        options = request().options
        fields: dict[str, Any] = {
            "locations": {"locations": (acp.Location(path=path),)},
            "content": {"content": (acp.ToolContent(type="diff", path=path, new_text="x"),)},
            "input": {"raw_input": {"file_path": path, "content": "x"}},
            "destination": {"raw_input": {"path": "a.py", "destination": path}},
            "changes": {"raw_input": {"changes": {path: {"type": "add"}}}},
            "before": {"locations": (acp.Location(path="a.py"),)},
        }[sends]
        if sends == "before":
            calls.note(acp.ToolCallFields(tool_call_id="c", kind=kind, raw_input={"path": path}))
        call = acp.ToolCallFields(tool_call_id="c", title="Edit", kind=kind, **fields)
        asked = calls.asked(acp.RequestPermission(session_id="s", tool_call=call, options=options))
        return answer("edits", replace(asked, folder=str(tree)))

    def test_all_allows_and_none_rejects(self):
        assert answer("all", request("execute")).is_allowed
        assert not answer("none", request("read")).is_allowed

    @pytest.mark.parametrize("said", ["yes", "no", "always"])
    def test_ask_asks_the_person(self, said):
        decision = answer("ask", request("execute"), Person(said))
        assert (decision.is_allowed, decision.by) == (said != "no", "person")

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
        assert outcome_of(decision) == acp.PermissionCancelled()
        assert outcome_of(decide(request(), allow=True, by="x")) == acp.PermissionSelected(option_id="id-allow_once")


def recorded(*calls: dict[str, Any]) -> PermissionRequest:
    """A request as an agent makes it: what it told of a call before, and what it asks."""
    known = SeenToolCalls()
    for call in calls[:-1]:
        known.note(msgspec.convert({"toolCallId": "c", **call}, acp.ToolCallChanged))
    asked = {"sessionId": "s", "toolCall": {"toolCallId": "c", **calls[-1]}, "options": []}
    return known.asked(msgspec.convert(asked, acp.RequestPermission))


def goose_meta(tool: str) -> dict[str, Any]:
    return {"goose": {"toolCall": {"toolName": tool}, "messageId": "chat"}}


def claude_meta(tool: str) -> dict[str, Any]:
    return {"claudeCode": {"toolName": tool}}


TASK: dict[str, Any] = {"tasks": [{"content": "Write one"}]}

RECORDED = {
    "copilot": recorded({"title": "bns-task-add", "kind": "edit", "rawInput": TASK}, {"title": "task-add"}),
    "codex": recorded(
        {
            "title": "mcp.bns.task-add",
            "kind": "execute",
            "rawInput": {"server": "bns", "tool": "task-add", "arguments": TASK},
            "_meta": {"is_mcp_tool_call": True},
        },
        {"kind": "execute", "status": "pending"},
    ),
    "opencode": recorded(
        {"title": "bns_task-add", "kind": "other", "rawInput": {}, "locations": []},
        {"title": "bns_task-add", "kind": "other", "rawInput": {}},
    ),
    "goose": recorded({"title": "bns: task-add", "rawInput": TASK, "_meta": goose_meta("bns__task-add")}, {}),
    "claude": recorded(
        {
            "title": "mcp__bns__task-add",
            "kind": "other",
            "rawInput": TASK,
            "_meta": claude_meta("mcp__bns__task-add"),
        },
        {"title": "mcp__bns__task-add", "rawInput": TASK},
    ),
    "gemini": recorded({"title": "task-add (bns MCP Server)", "kind": "other"}),
}
"""What each agent sends for a tool of ours; those with a model were recorded."""

DISGUISED = {
    "copilot: the description of a command": recorded(
        {
            "title": "bns-task-add",
            "kind": "execute",
            "rawInput": {"command": "rm -rf .", "description": "bns-task-add"},
        },
        {"title": "bns-task-add", "kind": "execute", "rawInput": {"command": "rm -rf .", "commands": ["rm"]}},
    ),
    "copilot: a file": recorded(
        {"title": "bns-task-add", "kind": "edit", "rawInput": {"path": "/repo/bns-task-add", "text": "x"}},
        {"title": "bns-task-add"},
    ),
    "codex: a command": recorded(
        {
            "title": "mcp.bns.task-add",
            "kind": "execute",
            "rawInput": {"command": "/bin/bash -lc mcp.bns.task-add", "cwd": "/repo"},
            "_meta": {"terminal_info": {"cwd": "/repo"}},
        },
        {"kind": "execute"},
    ),
    "opencode: a command": recorded(
        {"title": "bash", "kind": "execute", "rawInput": {"cwd": "/repo"}},
        {"title": "bns_task-add", "kind": "execute", "rawInput": {"command": "bns_task-add"}},
    ),
    "goose: a command": recorded(
        {"title": "bns: task-add", "rawInput": {"command": "bns__task-add"}, "_meta": goose_meta("shell")}, {}
    ),
    "claude: a command": recorded(
        {"title": "Terminal", "kind": "execute", "rawInput": {}, "_meta": claude_meta("Bash")},
        {"title": "mcp__bns__task-add", "rawInput": {"command": "mcp__bns__task-add"}},
    ),
    "a command whose input nobody tells": recorded({"title": "bns_task-add", "kind": "execute"}),
    "a command with a long input": recorded(
        {"title": "bns_task-add", "kind": "execute", "rawInput": {"command": "bns_task-add", "why": "x" * 40_000}}, {}
    ),
    "a path": recorded({"title": "bns-task-add", "kind": "move", "locations": [{"path": "/repo/bns-task-add"}]}),
    "a tool of another server": recorded({"title": "mcp__docs__task-add", "kind": "other"}),
    "an upstream tool where the session has none": recorded({"title": "bns_mcp_docs_rm", "kind": "other"}),
}


class TestOwnTools:
    @pytest.mark.parametrize(
        "title",
        [
            "mcp__bns__task-add",
            "mcp_bns_task-add",
            "mcp.bns.task-add",
            "bns_task-add",
            "bns_task_add",
            "bns-task-add",
            "bns__task-add",
            "bns/task-add",
            "bns: task-add",
            "Bns: Task-add",
            "Tool: bns/task-add",
            "task-add (bns MCP Server)",
        ],
    )
    @pytest.mark.parametrize("approve", APPROVALS)
    def test_they_are_always_allowed_however_an_agent_names_them(self, title, approve):
        decision = answer(approve, request("other", title))
        assert (decision.is_allowed, decision.by) == (True, "own tool")

    @pytest.mark.parametrize("agent", RECORDED)
    def test_they_are_known_by_what_each_agent_really_sends(self, agent):
        assert OWN.has(RECORDED[agent])

    @pytest.mark.parametrize("kind", ["read", "edit", "delete", "move", "search", "think", "fetch", "switch_mode"])
    def test_the_kind_does_not_matter(self, kind):
        assert OWN.has(recorded({"title": "bns-task-add", "kind": kind, "rawInput": TASK}))

    def test_the_name_beside_the_title_counts(self):
        assert answer("none", request("other", "Add a task", name="mcp__bns__task-add")).is_allowed

    @pytest.mark.parametrize(
        "title",
        [
            "rm -rf / # mcp__bns__task-add",
            "mcp__bns__task-add; rm -rf /",
            "mcp__bns__task-add\nrm",
            "mcp__other__task-add",
            "bns_rm",
            "bns/run.sh",
            "bns: rm -r x",
            "task-add",
            "taskadd",
            "bns",
            "",
        ],
    )
    @pytest.mark.parametrize("kind", ["other", "execute", "edit"])
    def test_nothing_else_is(self, title, kind):
        assert not answer("none", request(kind, title)).is_allowed

    @pytest.mark.parametrize("disguise", DISGUISED)
    def test_nothing_passes_as_one_by_its_title(self, disguise):
        assert not OWN.has(DISGUISED[disguise])

    def test_tools_of_other_servers_that_the_session_lists_are_too(self):
        own = OwnTools(server="bns", tools=(), has_upstreams=True)
        assert own.has(recorded({"title": "mcp__bns__mcp_docs_read", "kind": "other"}))
        assert not own.has(recorded({"title": "mcp__docs__read", "kind": "other"}))


class TestSentences:
    """What the prompt says about a policy."""

    def test_a_policy_without_a_shell_says_which_commands_run_all_the_same(self):
        may, check, commit = policy_sentences("edits", has_checks=True, commits=True)
        assert check == "Run what checks your work before you call it done."
        assert may == (
            "You may read, search, change and move files here, but not delete them. "
            "Shell commands are refused, except the checks, exactly as written above."
        )
        assert commit == "Do not commit: your changes are committed when you have finished."
        may, commit = policy_sentences("edits", has_checks=False, commits=True)
        assert may.endswith("Shell commands are refused.")

    @pytest.mark.parametrize("approve", APPROVALS)
    def test_an_agent_is_told_to_commit_only_where_nobody_else_does_and_it_may(self, approve):
        told = " ".join(policy_sentences(approve, has_checks=False, commits=False))
        assert ("Commit what you changed" in told) is (
            answer(approve, request("execute"), person=Person("yes")).is_allowed
        )
        assert "Do not commit" in " ".join(policy_sentences(approve, has_checks=False, commits=True))


class Person:
    """Says the same to every request, and counts them."""

    def __init__(self, said: PermissionAnswer) -> None:
        self.said: PermissionAnswer = said
        self.asked = 0

    async def __call__(self, _: PermissionRequest) -> PermissionAnswer:
        self.asked += 1
        return self.said


def call(kind: str, title: str, given: Any = None, *, tool: str = "") -> PermissionRequest:
    """A request with what the agent has sent about the call."""
    options = tuple(acp.PermissionOption(option_id=f"id-{one}", kind=one) for one in ALL)
    return PermissionRequest(
        tool_call_id="c", title=title, kind=kind, name=tool or title, is_named=bool(tool),
        input=given, has_input=given is not None, options=options,
    )  # fmt: skip


class TestAlways:
    """What a person allows for the rest of the run: the same, and nothing more."""

    def ask_both(self, first: PermissionRequest, second: PermissionRequest) -> tuple[int, PermissionDecision]:
        person = Person("always")

        async def go() -> PermissionDecision:
            policy = by_policy("ask", own=lambda: OWN, person=person)
            assert (await policy(first)).is_allowed
            return await policy(second)

        decision = asyncio.run(go())
        return person.asked, decision

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            (call("execute", "tests", {"command": "make test"}), call("execute", "again", {"command": "make test"})),
            (
                call("execute", "x", {"command": "make test", "description": "one"}, tool="Bash"),
                call("execute", "x", {"command": "make test", "description": "two"}, tool="Bash"),
            ),
            (call("execute", "make test"), call("execute", "make test")),
            (call("edit", "Edit a", {"path": "a"}, tool="Edit"), call("edit", "Edit b", {"path": "b"}, tool="Edit")),
        ],
    )
    def test_the_same_command_and_the_same_tool_for_changing_files(self, first, second):
        asked, decision = self.ask_both(first, second)
        assert (asked, decision.is_allowed, decision.by) == (1, True, "person, always")

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            (call("execute", "x", {"command": "make test"}), call("execute", "x", {"command": "make test; rm -rf ."})),
            (call("execute", "x", {"command": "ls"}), call("execute", "x", {"command": "ls", "cwd": "/"})),
            (call("execute", "x", {"command": "ls"}, tool="Bash"), call("execute", "x", {"command": "ls"}, tool="Sh")),
            (call("execute", "make test"), call("execute", "make test && make release")),
            (call("delete", "x", {"path": "a"}, tool="Delete"), call("delete", "x", {"path": "b"}, tool="Delete")),
            (call("fetch", "x", {"url": "a"}, tool="Fetch"), call("fetch", "x", {"url": "b"}, tool="Fetch")),
            (call("edit", "Edit a", {"path": "a"}), call("edit", "Edit b", {"path": "b"})),
            (call("read", "x", {}, tool="Editor"), call("edit", "x", {}, tool="Editor")),
        ],
    )
    def test_everything_else_is_asked_again(self, first, second):
        asked, decision = self.ask_both(first, second)
        assert (asked, decision.by) == (2, "person")

    def test_a_hook_of_git_is_asked_again(self, tmp_path):
        first = replace(call("edit", "x", {"path": "a"}, tool="Edit"), folder=str(tmp_path), paths=("a",))
        asked, _ = self.ask_both(first, replace(first, input={"path": ".git/hooks/x"}, paths=(".git/hooks/x",)))
        assert asked == 2

    def test_a_call_that_was_too_long_to_keep_is_asked_again(self):
        unknown = PermissionRequest(
            tool_call_id="c", title="x", kind="execute", has_input=True, options=request().options
        )
        asked, _ = self.ask_both(unknown, unknown)
        assert asked == 2
