"""The official TypeScript SDK's client, which refuses a list for one wrong entry: it reads all that we show it."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import BN, Bn, bn  # noqa: F401 - the fixture
from server.peers import installed
from server.upstreams.servers import Servers, careless
from upstream.faults_of_entries import LISTED, OBJECT, SHOWN

pytestmark = pytest.mark.peers

CLIENT = Path(__file__).with_name("sdk_client.mjs")
NUMBER = {"type": "object", "properties": {"value": {"type": "number"}}, "required": ["value"]}


@pytest.fixture
def told(bn: Bn, tmp_path: Path) -> Any:  # noqa: F811
    """What the client was told of a server that lists and answers this."""

    def run(says: dict[str, Any], until: str, *calls: dict[str, Any], words: tuple[str, ...] = ()) -> Any:
        (tmp_path / "says.json").write_text(json.dumps(says))
        Servers(bn)(one=careless(tmp_path / "says.json", *words, limits={"result_bytes": 10_000}))
        # The SDK is found from the place of the script.
        (tmp_path / "node_modules").symlink_to(installed.node_modules())
        script = tmp_path / CLIENT.name
        script.write_bytes(CLIENT.read_bytes())
        command = [installed.node(), str(script), BN, until, *map(json.dumps, calls)]
        done = subprocess.run(
            command, cwd=bn.repo, env=bn.env, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def test_one_careless_entry_hides_neither_the_others_nor_our_own(told):
    found = told(LISTED, "mcp_one_good")
    assert {f"mcp_one_{one['name']}" for one in SHOWN["tools"]} | {"bn_run"} <= set(found["tools"])
    assert {f"mcp_one_{one['name']}" for one in SHOWN["prompts"]} <= set(found["prompts"])
    assert {one["uri"] for one in SHOWN["resources"]} <= set(found["resources"])
    assert found["templates"] == [one["uriTemplate"] for one in SHOWN["templates"]]


def test_every_result_can_be_read(told):
    text = "the beginning " + "x" * 50_000
    answers = {
        "long": {"content": [{"type": "text", "text": text}], "structuredContent": {"value": 1, "more": text}},
        "bare": {"content": [{"type": "text", "text": "words"}]},
        "nulls": {"content": [{"type": "text", "text": "hi", "annotations": None}], "isError": None},
        "good": {"content": [], "structuredContent": {"value": 1}},
        "nan": {"content": [], "structuredContent": {"value": float("nan")}},
    }
    promised = ("long", "bare", "good", "nan", "close")
    tools = [{"name": name, "inputSchema": OBJECT, "outputSchema": NUMBER} for name in promised]
    says = {
        "tools": [*tools, {"name": "nulls", "inputSchema": OBJECT}],
        "answers": {name: json.dumps(answer) for name, answer in answers.items()},
    }
    calls = [{"name": f"mcp_one_{name}", "arguments": {}} for name in (*answers, "close")]
    found = told(says, "mcp_one_good", *calls, words=("closes",))["results"]
    results = dict(zip((*answers, "close"), found, strict=True))
    assert {name for name, one in results.items() if one.get("isError")} == {"long", "bare", "nan", "close"}
    shown = {name: "\n".join(block["text"] for block in one["content"]) for name, one in results.items()}
    assert "in the file /" in shown["long"]
    assert "the beginning xx" in shown["long"]
    assert "words" in shown["bare"]
    assert '{"value": null}' in shown["nan"]
    assert "closed its output" in shown["close"]
    assert results["good"]["structuredContent"] == {"value": 1}


def test_our_own_tools_keep_to_their_schemas(told):
    run = {"name": "bn_run", "arguments": {"args": ["task", "list"]}}
    wrong = {"name": "bn_run", "arguments": {"words": 1}}
    found = told({"tools": []}, "bn_run", run, wrong)["results"]
    assert all("ok" in one["structuredContent"] for one in found)
