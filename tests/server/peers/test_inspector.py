"""The official inspector: it finds no fault with our schemas in strict mode, and calls our tools in both eras."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from server.peers import installed
from server.peers.conftest import Target

pytestmark = pytest.mark.peers


@pytest.fixture(params=["legacy", "modern"])
def era(request) -> str:
    return request.param


def inspect(target: Target, era: str, home: Path, *words: str) -> Any:
    """The result of one method. Anything wrong with it, or with a schema in strict mode, is an error."""
    server = [target.url, "--transport", "http"] if target.url else target.command
    ours = [f"{name}={value}" for name, value in target.env.items() if name.startswith(("BN_", "XDG_CONFIG"))]
    env = [word for pair in ours for word in ("-e", pair)]
    inspector = installed.node_modules() / ".bin" / "mcp-inspector"
    done = subprocess.run(
        [installed.node(), str(inspector), "--cli", *server, "--protocol-era", era, "--format", "json", *env, *words],
        cwd=target.cwd,
        env=target.env | {"HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    return json.loads(done.stdout)["result"]


def test_our_engine_serves_it(fixture: Target, era: str, tmp_path: Path):
    tools = inspect(fixture, era, tmp_path, "--method", "tools/list", "--strict")["tools"]
    assert "echo" in {tool["name"] for tool in tools}
    words = ("--method", "tools/call", "--tool-name", "echo", "--tool-arg", "text=hello")
    assert inspect(fixture, era, tmp_path, *words)["content"] == [{"type": "text", "text": "hello"}]


def test_our_product_serves_it(product: Target, era: str, tmp_path: Path):
    tools = inspect(product, era, tmp_path, "--method", "tools/list", "--strict")["tools"]
    assert {"task_add", "task_list", "bn_run"} <= {tool["name"] for tool in tools}
    added = ("--method", "tools/call", "--tool-name", "task_add", "--tool-arg", 'tasks=[{"title":"Try it"}]')
    assert not inspect(product, era, tmp_path, *added)["isError"]
    listed = inspect(product, era, tmp_path, "--method", "tools/call", "--tool-name", "task_list")
    assert "Try it" in listed["content"][0]["text"]
