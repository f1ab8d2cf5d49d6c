"""The client that the official conformance suite drives: a gateway, and someone who calls what it offers.

The suite starts it with the address of its server, and says in the environment what it is about.
"""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

from msgspec import Raw

from binnacle.project.project import find_project
from binnacle.serving.upstream_connections import UpstreamConnections
from binnacle.upstream.gateway import Gateway

WAIT = 60.0
TYPICAL = {"string": "us-west1", "number": 2, "integer": 2, "boolean": True, "object": {}, "array": []}
"""An argument, by its type."""


class Person:
    """Someone at a client of the handshake era, who agrees to everything as it is proposed."""

    era = "handshake"
    capabilities: Mapping[str, Any] = {"elicitation": {}}
    wants_progress = False
    request_state: str | None = None
    input_responses: Mapping[str, Any] | None = None

    async def ask(self, method: str, params: Any) -> Any:
        assert method == "elicitation/create"
        given = json.loads(bytes(params)) if isinstance(params, Raw) else params
        properties = given["requestedSchema"]["properties"]
        content = {name: part.get("default", TYPICAL[part["type"]]) for name, part in properties.items()}
        return {"action": "accept", "content": content}


async def call(gateway: Gateway, tool: str, arguments: Any) -> None:
    given = Raw(json.dumps(arguments).encode())
    result = await gateway.call(f"mcp_suite_{tool}", given, Person(), who="suite")
    print(tool, {key: bytes(value) for key, value in result.items()}, file=sys.stderr)


async def use(gateway: Gateway) -> None:
    """Does with the server what its scenario is about; calls everything, if that says nothing else."""
    if os.environ["MCP_CONFORMANCE_SCENARIO"] == "json-schema-ref-no-deref":
        return  # its server has a tool to be looked at only
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    if calls := context.get("toolCalls"):
        for one in calls:
            await call(gateway, one["name"], one["arguments"])
        return
    tools = {offer.tool.name: json.loads(bytes(offer.entry)) for offer in gateway.offers().values()}
    if "json_schema_echo" in tools:
        await call(gateway, "json_schema_echo", {"schema": tools["json_schema_2020_12_tool"]["inputSchema"]})
        return
    for name, entry in tools.items():
        schema = entry["inputSchema"]
        wanted = {key: schema["properties"][key] for key in schema.get("required", ())}
        await call(gateway, name, {key: TYPICAL[part.get("type", "string")] for key, part in wanted.items()})
    server = gateway.servers["suite"]
    for resource in server.lists.resources:
        await gateway.ask("suite", "resources/read", {"uri": json.loads(bytes(resource))["uri"]}, Person(), who="agent")
    for prompt in server.lists.prompts:
        await gateway.ask("suite", "prompts/get", {"name": json.loads(bytes(prompt))["name"]}, Person(), who="agent")


async def main(url: str) -> None:
    moved = asyncio.Event()
    upstreams = UpstreamConnections(find_project(), flags=[f"suite={url}"])
    gateway = upstreams.gateway(lambda: None, moved.set)
    try:
        async with asyncio.timeout(WAIT):
            gateway.start()
            while gateway.servers["suite"].status.state != "ready":
                await moved.wait()
                moved.clear()
                print(gateway.servers["suite"].status, file=sys.stderr)
            await use(gateway)
            print(gateway.notes, file=sys.stderr)
    finally:
        await gateway.aclose()
        await upstreams.aclose()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"BN_DATA_DIR": f"{folder}/data", "XDG_CONFIG_HOME": f"{folder}/config", "HOME": folder}
        os.mkdir(f"{folder}/.git")
        os.chdir(folder)
        asyncio.run(main(sys.argv[-1]))
