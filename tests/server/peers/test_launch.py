"""Real agents, started with `bn plan launch` and led by a scripted model: they have the session's tools only."""

import json
import os
from pathlib import Path

import pytest

from cli.conftest import BN, Bn, bn  # noqa: F401 - the fixture
from server.peers import installed
from server.peers.model import Model, Say, Use, playing

pytestmark = pytest.mark.peers

PROGRAMS = {
    "goose": "@aaif/goose-binary-linux-x64/bin/goose",
    "claude": "@anthropic-ai/claude-code-linux-x64/claude",
}

PREFIX = {"goose": "bn__", "claude": "mcp__bns__"}
"""What each puts before the names of our tools."""

REFUSAL = {"goose": "task_add", "claude": "No such tool available"}
"""What the model reads of a tool it called without having it: from us, or from an agent that asks nobody."""


def launch(bn: Bn, client: str, model: Model, *words: str) -> str:  # noqa: F811
    """What the agent says when it is started on a session."""
    tools = Path(bn.env["HOME"], "tools")
    tools.mkdir()
    (tools / client).symlink_to(installed.node_modules() / PROGRAMS[client])
    provider = {
        "PATH": f"{tools}{os.pathsep}{bn.env['PATH']}",
        "GOOSE_PROVIDER": "openai",
        "GOOSE_MODEL": "scripted",
        "GOOSE_DISABLE_KEYRING": "1",
        "GOOSE_MODE": "auto",
        "OPENAI_HOST": model.url,
        "OPENAI_API_KEY": "none",
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "ENABLE_TOOL_SEARCH": "false",
    }
    done = bn.run("plan", "launch", client, *words, env=provider)
    assert done.code == 0, done
    return done.out


def offered(model: Model, client: str) -> set[str]:
    """Our tools among those the agent has, by the names we gave them."""
    prefix = PREFIX[client]
    return {name.removeprefix(prefix) for name in model.offered if name.startswith(prefix)}


@pytest.mark.parametrize("client", PROGRAMS)
def test_an_agent_reports_on_its_task_and_can_do_nothing_else(bn, client):  # noqa: F811
    task = bn.add("Mend the login")
    # Set up in the project for everyone, and not meant for this session.
    servers = {name: {"type": "stdio", "command": BN, "args": ["mcp", "serve"]} for name in ("binnacle", "other")}
    (bn.repo / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    script = (
        Use(f"{PREFIX[client]}task_add", {"tasks": [{"title": "Smuggled in"}]}, is_offered=False),
        Use("report_done", {"summary": "The login works"}),
        Say("the tool said: {last}"),
    )
    with playing(*script) as model:
        said = launch(bn, client, model, "--recipe", "report", "--task", task, "--input", "Mind the cookies")
    assert "the tool said:" in said
    planned = bn("plan", "show", "report", "--task", task)["tools"]
    assert not any("other" in name for name in model.offered)
    assert offered(model, client) == {tool["name"] for tool in planned}
    assert any("Mend the login" in prompt and "Mind the cookies" in prompt for prompt in model.prompts)
    refused, reported = model.results
    assert REFUSAL[client] in refused
    assert task in reported
    shown = bn("task", "show", task)["task"]
    assert (shown["status"], shown["closed_reason"]) == ("done", "The login works")
    assert [one["title"] for one in bn("task", "list", "--all")["tasks"]] == ["Mend the login"]
