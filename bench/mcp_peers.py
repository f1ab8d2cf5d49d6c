"""The MCP servers we compare with: one tool that says its argument again, on the official SDK and on FastMCP.

They, and the gateways we compare with, come from the package index at the versions in `peers/requirements-*.txt`, each
into an environment of its own.
"""

import hashlib
import os
import sys

from bench.measure import Command, run
from bench.plan import Plan

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers")

SDK, FASTMCP, MCP_PROXY = "official SDK", "FastMCP", "mcp-proxy"

_PACKAGES = {
    SDK: ("mcp",),
    FASTMCP: ("fastmcp", "uvloop", "httptools"),
    MCP_PROXY: ("mcp-proxy", "uvloop", "httptools"),
}
_SCRIPTS = {SDK: "sdk_echo.py", FASTMCP: "fastmcp_echo.py"}

_DONE = "installed"
"""A file in an environment that has everything."""


def peer(plan: Plan, name: str) -> Command:
    """The server called `name`; its environment is made when there is none yet, and kept for the next run.

    Raises:
        Failed: the package index cannot be reached, or does not have it.
    """
    return script(plan, name, _SCRIPTS[name])


def script(plan: Plan, name: str, file: str) -> Command:
    """A script of ours that runs on a peer."""
    command = program(plan, name, "python")
    return command._replace(argv=(*command.argv, os.path.join(FOLDER, file)))


def program(plan: Plan, name: str, file: str) -> Command:
    """A program in the environment of a peer."""
    place = _cache(name)
    if not os.path.exists(os.path.join(place, _DONE)):
        _install(plan, name, place)
    home = os.path.join(plan.folder, "home")
    os.makedirs(home, exist_ok=True)
    # FastMCP would otherwise ask the network for its newest version, and decorate its log.
    env = {"FASTMCP_CHECK_FOR_UPDATES": "off", "FASTMCP_LOG_LEVEL": "WARNING", "FASTMCP_SHOW_SERVER_BANNER": "false"}
    surroundings = {"PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8", **env}
    return Command((os.path.join(place, "bin", file),), surroundings, home)


def _install(plan: Plan, name: str, place: str) -> None:
    plan.say(f"server: installing {name} into {place} (once)")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    # Made where it stays: an environment that is moved loses its scripts.
    run([sys.executable, "-m", "venv", "--clear", "--without-pip", place])
    into = [*pip, "--python", os.path.join(place, "bin", "python")]
    run([*into, "install", "--constraint", _requirements(name), *_PACKAGES[name]])
    with open(os.path.join(place, _DONE), "w", encoding="utf-8"):
        pass


def _requirements(name: str) -> str:
    return os.path.join(FOLDER, "requirements-mcp-proxy.txt" if name == MCP_PROXY else "requirements-mcp.txt")


def _cache(name: str) -> str:
    """Where a peer is kept between runs. Other versions, or another Python, get another place."""
    with open(_requirements(name), "rb") as file:
        state = hashlib.sha256(file.read() + sys.version.encode()).hexdigest()[:12]
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "binnacle-bench", f"{name.replace(' ', '-').lower()}-{state}")
