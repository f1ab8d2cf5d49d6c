"""What a result says over a real server: the model reads the answer, programs find the bookkeeping in `_meta`."""

import pytest

from cli.conftest import BN
from server.clients import Stdio, call, new_call

OURS = {"binnacle/requestId", "binnacle/timestamp", "binnacle/duration"}


@pytest.mark.parametrize("era", ["handshake", "stateless"])
def test_request_id_time_and_duration_are_in_meta_alone(bn, era):
    bn.add("One")
    write = call if era == "handshake" else new_call
    with Stdio(command=[BN, "mcp", "serve"], cwd=bn.repo, env=bn.env) as server:
        if era == "handshake":
            server.initialize()
        for message in (write(7, "task_list"), write(8, "task_get", id="bn-000")):
            result = server.ask(message)["result"]
            assert result["structuredContent"].keys() <= {"ok", "type", "data", "error"}
            assert result["_meta"].keys() >= OURS
            shown = str(result["structuredContent"]) + result["content"][0]["text"]
            assert result["_meta"]["binnacle/requestId"] not in shown
            server_info = result["_meta"].get("io.modelcontextprotocol/serverInfo")
            assert (server_info is not None) is (era == "stateless"), "what the era says stays beside it"
