"""Names of agents and command lines become commands."""

import sys
from pathlib import Path

import pytest

from binnacle.config.child_environment import for_agent
from binnacle.errors import AgentStart, InvalidInput
from binnacle.runner.agents.agent_commands import KNOWN_AGENTS, resolve_agent


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A machine on which every known agent is installed."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for known in KNOWN_AGENTS.values():
        for command in known.commands:
            if "/" not in command[0]:
                (folder / command[0]).write_text("#!/bin/sh\n")
                (folder / command[0]).chmod(0o755)
    return {"PATH": str(folder)}


def test_every_known_agent_is_found(environ):
    for name, known in KNOWN_AGENTS.items():
        assert resolve_agent(name, environ=environ).argv == known.commands[0]


def test_the_second_command_is_taken_where_the_first_is_missing(environ):
    Path(environ["PATH"], "claude-agent-acp").unlink()
    assert resolve_agent("claude", environ=environ).argv == ("claude-code-acp",)


def test_a_missing_one_is_told_with_how_to_get_it():
    for name, known in KNOWN_AGENTS.items():
        if known.install:
            with pytest.raises(AgentStart, match="no such command") as caught:
                resolve_agent(name, environ={"PATH": ""})
            assert caught.value.hint == f"install it: {known.install}"


def test_any_other_words_are_a_command_line():
    agent = resolve_agent(f"{sys.executable} 'my agent.py' --acp", environ={})
    assert agent.argv == (sys.executable, "my agent.py", "--acp")
    assert agent.name == Path(sys.executable).name


def test_a_command_that_is_not_there_names_the_nearest_agent():
    with pytest.raises(AgentStart, match="no such command: gooose") as caught:
        resolve_agent("gooose", environ={"PATH": ""})
    assert caught.value.hint == "did you mean 'goose'?"


@pytest.mark.parametrize("words", ["", "  ", "goose 'acp"])
def test_what_is_no_command_line_is_refused(words):
    with pytest.raises(InvalidInput):
        resolve_agent(words, environ={})


def test_a_model_is_given_in_the_way_the_agent_takes_it(environ):
    def given(name):
        agent = resolve_agent(name, model="m", environ=environ)
        return agent.argv[1:], dict(agent.env), agent.model

    assert given("goose") == (("acp",), {"GOOSE_MODEL": "m"}, None)
    assert given("gemini") == (("--acp", "--model=m"), {"GEMINI_CLI_NO_RELAUNCH": "true"}, None)
    assert given("opencode") == (("acp",), {}, "m")
    assert given(f"{sys.executable} x") == (("x",), {}, "m")


@pytest.mark.parametrize("name", ["gemini", "copilot"])
def test_a_model_is_never_an_option(environ, name):
    """A project's settings may name the model, before anybody trusted them."""
    assert "--yolo" not in resolve_agent(name, model="--yolo", environ=environ).argv


@pytest.mark.parametrize(
    ("name", "variable", "value"),
    [("claude", "ENABLE_TOOL_SEARCH", "false"), ("codex", "INITIAL_AGENT_MODE", "workspace-write")],
)
def test_what_an_agent_needs_is_set_unless_the_person_has_set_it(environ, name, variable, value):
    assert resolve_agent(name, environ=environ).env == {variable: value}
    assert resolve_agent(name, environ={**environ, variable: "mine"}).env == {}
    assert for_agent({variable: "mine"}, name)[variable] == "mine"
