"""Reads `.vscode/launch.json`: comments, variables and settings per platform, as VS Code does."""

import os
import re
import sys
from collections.abc import Mapping
from typing import Any

import msgspec

from binnacle.bridge.debug.debug_errors import debug_error, script_unsupported
from binnacle.config.repository_files import read_inside
from binnacle.errors import did_you_mean

_PLATFORM = {"darwin": "osx", "win32": "windows"}.get(sys.platform, "linux")

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\n]*|/\*.*?\*/|,(?=(?>\s|//[^\n]*|/\*.*?\*/)*+[}\]])', re.DOTALL)
"""A string, which stays; a comment or a comma before a closing bracket, which is removed."""

_VARIABLE = re.compile(r"\$\{([^}]*)\}")


def find_configuration(folder: str, name: str, *, file: str | None) -> dict[str, Any]:
    """The configuration of that name, with its variables filled in.

    Raises:
        BridgeError: there is no such file or name, or a variable has no value here.
    """
    path = os.path.join(folder, ".vscode", "launch.json")
    found = _read(folder)
    configurations = [one for one in found.get("configurations") or () if isinstance(one, dict)]
    names = [str(one.get("name", "")) for one in configurations]
    if name not in names:
        if any(isinstance(one, dict) and one.get("name") == name for one in found.get("compounds") or ()):
            raise script_unsupported(
                "debug.start", f"{name!r} starts several programs at once; start its configurations one by one"
            )
        raise debug_error(
            "E_NOT_FOUND",
            f"no configuration in {path} is called {name!r}",
            did_you_mean(name, names) or "give program, module or pytest instead",
            configurations=names,
        )
    configuration = configurations[names.index(name)]
    configuration |= configuration.pop(_PLATFORM, None) or {}
    for other in ("linux", "osx", "windows"):
        configuration.pop(other, None)
    filled: dict[str, Any] = _fill(configuration, _values(folder, file))
    return filled


def configuration_names(folder: str) -> list[str]:
    """The names of all configurations; none if there is no such file or it is damaged."""
    try:
        found = _read(folder)
    except Exception:  # noqa: BLE001 - a list for a hint is not worth another error
        return []
    return [str(one["name"]) for one in found.get("configurations") or () if isinstance(one, dict) and "name" in one]


def without_comments(text: str) -> str:
    """Plain JSON from JSON as VS Code accepts it. Positions stay the same."""
    return _TOKEN.sub(lambda match: match[0] if match[0][0] == '"' else re.sub(r"[^\n]", " ", match[0]), text)


def _read(folder: str) -> dict[str, Any]:
    path = os.path.join(folder, ".vscode", "launch.json")
    try:
        text = read_inside(folder, path).decode("utf-8-sig")
    except FileNotFoundError:
        raise debug_error(
            "E_NOT_FOUND", f"there is no {path}", "give program, module or pytest to debug_start instead of launch"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise debug_error(
            "E_FS_ERROR", f"cannot read {path}: {error}", "fix the file, or give program instead"
        ) from error
    try:
        found = msgspec.json.decode(without_comments(text))
    except msgspec.DecodeError as error:
        raise debug_error(
            "E_INVALID_PARAMS", f"{path} is no valid JSON: {error}", "fix the file, or give program instead"
        ) from error
    return found if isinstance(found, dict) else {}


def _values(folder: str, file: str | None) -> dict[str, str]:
    values = {
        "workspaceFolder": folder,
        "workspaceRoot": folder,
        "workspaceFolderBasename": os.path.basename(folder),
        "userHome": os.path.expanduser("~"),
        "pathSeparator": os.sep,
        "/": os.sep,
        "cwd": folder,
        "command:python.interpreterPath": "",
    }
    if file is not None:
        relative = os.path.relpath(file, folder)
        stem, extension = os.path.splitext(os.path.basename(file))
        values |= {
            "file": file,
            "fileBasename": os.path.basename(file),
            "fileBasenameNoExtension": stem,
            "fileExtname": extension,
            "fileDirname": os.path.dirname(file),
            "fileWorkspaceFolder": folder,
            "relativeFile": relative,
            "relativeFileDirname": os.path.dirname(relative) or ".",
        }
    return values


def _fill(value: Any, values: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _VARIABLE.sub(lambda match: _value(match[1], values), value)
    if isinstance(value, dict):
        return {name: _fill(one, values) for name, one in value.items()}
    if isinstance(value, list):
        return [_fill(one, values) for one in value]
    return value


def _value(name: str, values: Mapping[str, str]) -> str:
    if name.startswith("env:"):
        return os.environ.get(name[4:], "")
    if (found := values.get(name)) is not None:
        return found
    if name.lower().startswith(("file", "relativefile")):
        raise debug_error(
            "E_INVALID_PARAMS",
            f"the configuration is about the file that is open: ${{{name}}}",
            "call debug_start with file as well, the path of that file",
        )
    raise script_unsupported("debug.start", f"only an editor knows the value of ${{{name}}}")
