"""Makes pytest's tests stop where they fail, by a plugin in the debugged pytest."""

import os
from collections.abc import Mapping
from typing import Any

PYTEST_PLUGIN = "binnacle_stop_at_failures"
PLUGIN_FOLDER = os.path.join(os.path.dirname(__file__), "in_program")
"""The folder of the plugin. Nothing else is in it: the program could import it."""


def is_pytest(configuration: Mapping[str, Any]) -> bool:
    return configuration.get("module") == "pytest"


def load_plugin(full: dict[str, Any], environ: Mapping[str, str]) -> dict[str, Any]:
    """A launch by debugpy, with the plugin if it runs pytest. The program's environment extends `environ`."""
    if not is_pytest(full) or _ignores_path(full):
        return full
    before = full["env"].get("PYTHONPATH", environ.get("PYTHONPATH", ""))
    path = os.pathsep.join(filter(None, (PLUGIN_FOLDER, before)))
    return {**full, "args": ["-p", PYTEST_PLUGIN, *full["args"]], "env": {**full["env"], "PYTHONPATH": path}}


def plugin_notes(full: Mapping[str, Any], request: str) -> tuple[str, ...]:
    """Notes for the agent if the plugin cannot be loaded."""
    if request == "launch" and is_pytest(full) and _ignores_path(full):
        return ("failing tests do not stop: this Python is told to ignore PYTHONPATH, by -I or -E",)
    return ()


def _ignores_path(full: Mapping[str, Any]) -> bool:
    options = (word for word in full["python"][1:] if word.startswith("-") and not word.startswith("--"))
    return any({"I", "E"} & set(word) for word in options)
