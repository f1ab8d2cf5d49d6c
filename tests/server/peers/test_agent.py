"""A real agent, goose, led by a scripted model: it finds our tools, calls them, and its model sees what they return."""

import shlex
import subprocess
from pathlib import Path

import pytest

from server.peers import installed
from server.peers.conftest import Target
from server.peers.model import Model, Say, Use, playing

pytestmark = pytest.mark.peers


def goose(target: Target, model: Model, home: Path) -> str:
    """What the agent says when it is told to go."""
    binary = installed.node_modules() / "@aaif" / "goose-binary-linux-x64" / "bin" / "goose"
    ours = [f"{name}={value}" for name, value in target.env.items() if name.startswith("BN_")]
    server = (
        ["--with-streamable-http-extension", target.url]
        if target.url
        else ["--with-extension", shlex.join([*ours, *target.command])]
    )
    provider = {
        "GOOSE_PROVIDER": "openai",
        "GOOSE_MODEL": "scripted",
        "OPENAI_HOST": model.url,
        "OPENAI_API_KEY": "none",
        "GOOSE_DISABLE_KEYRING": "1",
        "GOOSE_MODE": "auto",
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_DATA_HOME": str(home / "share"),
        "XDG_STATE_HOME": str(home / "state"),
    }
    done = subprocess.run(
        [str(binary), "run", "--no-session", "--no-profile", "-q", *server, "-t", "go"],
        cwd=target.cwd,
        env={name: value for name, value in target.env.items() if not name.startswith("XDG_")} | provider,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done
    return done.stdout


def test_it_calls_a_tool_and_its_model_sees_the_result(fixture: Target, tmp_path: Path):
    with playing(Use("echo", {"text": "hello from afar"}), Say("the tool said: {last}")) as model:
        said = goose(fixture, model, tmp_path)
    assert any(name.endswith("__echo") for name in model.offered)
    assert "the tool said: hello from afar" in said


def test_it_adds_a_task_and_lists_it(product: Target, tmp_path: Path):
    tasks = {"tasks": [{"title": "Try it"}]}
    with playing(Use("task_add", tasks), Use("task_list", {}), Say("the tasks are: {last}")) as model:
        said = goose(product, model, tmp_path)
    assert any(name.endswith("__task_add") for name in model.offered)
    assert "Try it" in said.partition("the tasks are:")[2]
