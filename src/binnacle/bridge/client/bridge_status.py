"""The status of a workspace's bridge: whether a host answers, what it can do, and what could be installed."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict, cast

from binnacle.bridge.client.bridge_client import BridgeClient
from binnacle.bridge.debug import adapters
from binnacle.bridge.jobs.job_files import bridge_folder
from binnacle.bridge.jobs.protocol import EDITOR_NEEDED, BridgeError, HostInfo
from binnacle.bridge.manifest import ScriptManifest


class HostHealth(TypedDict):
    """A host, and whether it answers."""

    kind: str
    pid: int
    bridgeId: str
    startedAt: str
    editor: NotRequired[str]
    workspace: NotRequired[str]
    """The folder it serves, if that is not ours."""

    healthy: bool
    problem: NotRequired[str]
    roundTripMs: NotRequired[float]


class UnsupportedTools(TypedDict):
    """Tools that the host does not have, and where they would work."""

    tools: list[str]
    hint: str


class BridgeStatus(TypedDict):
    """How the bridge of a workspace stands, as it is printed and given to agents."""

    workspace: str
    folder: str
    host: HostHealth | None
    adapters: Sequence[Mapping[str, object]]
    """As the host describes them."""

    scripts: int
    problem: NotRequired[str]
    next: NotRequired[str]
    unsupported: NotRequired[UnsupportedTools]


async def bridge_status(client: BridgeClient, manifest: ScriptManifest) -> BridgeStatus:
    """The status, after a round trip to the host. Starts no host."""
    try:
        host, problem = client.look_for_host(), ""
    except BridgeError as error:
        host, problem = None, f"[{error.code}] {error.message}; {error.hint}"
    capabilities: Mapping[str, Any] = host.capabilities if host else {}
    can = capabilities.get("scripts")
    health = await _health(client, host) if host else None
    adapters: Sequence[Mapping[str, object]] = capabilities.get("adapters") or ()
    if not adapters:
        adapters = await asyncio.to_thread(_adapters, client.workspace)
    status: BridgeStatus = {
        "workspace": client.workspace,
        "folder": bridge_folder(client.folder_of(host) if host else client.workspace),
        "host": health,
        "adapters": adapters,
        "scripts": len(manifest.scripts),
    }
    kind = host.kind if host else "headless"
    lacking = sorted(
        one.metadata.tool
        for alias, one in manifest.scripts.items()
        if kind not in one.metadata.hosts or (can is not None and alias not in can)
    )
    if problem:
        status["problem"] = problem
    elif host is None or health is None:
        status["next"] = "no host is there; the first call of a debug tool starts one"
    elif not health["healthy"]:
        status["next"] = _remedy(host)
    if lacking:
        status["unsupported"] = {"tools": lacking, "hint": EDITOR_NEEDED}
    return status


def _remedy(host: HostInfo) -> str:
    if host.kind == "headless":
        return "end the host with bn bridge stop, or ask a person to; the next call starts another"
    return "reload or close the window of the editor; without it the next call starts a host without an editor"


async def _health(client: BridgeClient, host: HostInfo) -> HostHealth:
    known: dict[str, Any] = {
        "kind": host.kind,
        "pid": host.pid,
        "bridgeId": host.bridge_id,
        "startedAt": host.started_at,
    }
    if editor := host.capabilities.get("editor"):
        known["editor"] = f"{editor} {host.capabilities.get('version', '')}".strip()
    if (folder := client.folder_of(host)) != client.workspace:
        known["workspace"] = folder
    try:
        seconds = await client.ping(host)
    except BridgeError as error:
        found = {"healthy": False, "problem": f"[{error.code}] {error.message}"}
    else:
        found = {"healthy": True, "roundTripMs": round(seconds * 1000, 2)}
    return cast("HostHealth", known | found)


def _adapters(workspace: str) -> list[dict[str, object]]:

    return adapters.list_adapters(workspace)
