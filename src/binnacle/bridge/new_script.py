"""The files that a script of a project begins with: a program that works, and its metadata."""

import os
from collections.abc import Callable
from typing import Literal

from binnacle.bridge.manifest import shipped_scripts
from binnacle.bridge.metadata import METADATA_SUFFIX, is_alias, tool_name
from binnacle.bridge.project_scripts import (
    RESERVED_TOOL_PREFIXES,
    find_project_scripts,
    is_reserved_tool,
    scripts_folder,
)
from binnacle.config.repository_files import hint_of, write_inside
from binnacle.errors import Duplicate, InvalidInput

METADATA = """\
alias: {alias}
name: {title}
category: {category}
description: Says hello. Tell here what the script does, in a sentence or two.
params:
  who: {{type: string, default: world, description: whom to greet}}
response: query
mcp:
  timeout: 30000
  llm:
    when_to_use: Tell here when an agent should use it.
"""

PYTHON = '''\
#!/usr/bin/env python3
"""{title}. Reads its parameters as JSON from standard input and writes its answer as JSON."""

import json
import sys

params = json.load(sys.stdin)
print("50% greeting", file=sys.stderr)
if not params["who"]:
    json.dump({{"error": {{"code": "E_INVALID_PARAMS", "message": "nobody to greet", "hint": "give who"}}}}, sys.stdout)
else:
    json.dump({{"greeting": f"hello, {{params['who']}}"}}, sys.stdout)
'''

SHELL = """\
#!/bin/sh
# {title}. Reads its parameters as JSON from standard input and writes its answer as JSON.
set -eu
params=$(cat)
echo "50% greeting" >&2
printf '{{"greeting": "hello", "given": %s}}\\n' "$params"
"""


def check_new_alias(alias: str, repo: str, is_tool: Callable[[str], bool]) -> None:
    """Refuses a name that a new script cannot have; `is_tool` knows the names of all tools there are.

    Raises:
        InvalidInput: it is no alias, or its tool would be taken for one of ours.
        Duplicate: another script or tool has it.
    """
    if not is_alias(alias):
        raise InvalidInput(f"no alias: {alias!r}", hint="lower-case words joined by . and -: deploy.check")
    taken = shipped_scripts().by_tool() | find_project_scripts(repo).names()
    if is_reserved_tool(tool_name(alias)):
        hint = f"take a name that does not begin with {' or '.join(RESERVED_TOOL_PREFIXES)}"
        raise InvalidInput(f"{tool_name(alias)!r} is not for scripts", hint=hint)
    if tool_name(alias) in taken or is_tool(tool_name(alias)):
        raise Duplicate(f"there is a script with the tool {tool_name(alias)!r}", hint="take another name")


def write_script(repo: str, alias: str, *, language: Literal["python", "sh"]) -> list[str]:
    """Writes the metadata and the program of a new script, and returns both files.

    Raises:
        Duplicate: one of them is there.
        InvalidInput: one cannot be written.
    """
    folder = scripts_folder(repo)
    values = {"alias": alias, "title": alias.replace(".", " ").replace("-", " ").capitalize()}
    values["category"] = alias.partition(".")[0]
    program = os.path.join(folder, alias + (".sh" if language == "sh" else ".py"))
    metadata = os.path.join(folder, alias + METADATA_SUFFIX)
    _write(program, (SHELL if language == "sh" else PYTHON).format(**values), repo, mode=0o755)
    _write(metadata, METADATA.format(**values), repo, mode=0o644)
    return [metadata, program]


def _write(path: str, content: str, repo: str, *, mode: int) -> None:
    try:
        write_inside(repo, path, content.encode(), mode=mode, is_new=True)
    except FileExistsError as error:
        raise Duplicate(f"there is a file already: {path}", hint="take another name, or remove it") from error
    except OSError as error:
        raise InvalidInput(f"cannot write {path}: {error.strerror}", hint=hint_of(error)) from error
