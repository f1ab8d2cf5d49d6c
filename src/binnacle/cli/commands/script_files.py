"""`bn script new` and `build`: the files of your own scripts."""

import os
from argparse import Namespace

from msgspec.structs import replace

from binnacle.bridge.manifest import (
    MANIFEST_FILE,
    MAX_SCRIPTS,
    SHIPPED_FOLDER,
    gather_scripts,
    shipped_scripts,
    write_manifest,
)
from binnacle.bridge.metadata import METADATA_SUFFIX, is_alias, tool_name
from binnacle.bridge.project_scripts import (
    RESERVED_TOOL_PREFIXES,
    find_project_scripts,
    is_reserved_tool,
    scripts_folder,
)
from binnacle.cli.command import CommandAnswer, arg, by_person, changes
from binnacle.cli.commands.script import SCRIPT
from binnacle.cli.context import Context
from binnacle.cli.problem_list import ListedProblem, list_problems, show_problems
from binnacle.cli.screen import Screen, printable
from binnacle.config.repository_files import hint_of, write_inside
from binnacle.errors import Duplicate, InvalidInput, NotFound, UsageError

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


class NewScriptAnswer(CommandAnswer):
    """The files of a script that was begun, and the next step."""

    alias: str
    files: list[str]
    next: str


class ManifestAnswer(CommandAnswer):
    """What a manifest has in it, and what kept it from being written."""

    manifest: str
    scripts: int
    tools: int
    problems: list[ListedProblem]
    warnings: list[str]
    written: bool | None = None
    """Whether the file changed; None where it was left alone."""


def _show_new(answer: NewScriptAnswer, screen: Screen) -> None:
    for path in answer.files:
        screen.line(f"{screen.styled('✓', 'green')} {printable(path)}")
    screen.line(f"next: {answer.next}")


@SCRIPT.command(
    "new",
    "begin your own script: a program and its metadata",
    "bn script new deploy.check --python",
    arg("name", metavar="NAME", help="its alias: words joined by . and -, such as deploy.check"),
    arg("--python", action="store_true", help="a Python program; the default"),
    arg("--sh", action="store_true", help="a shell script"),
    view=_show_new,
    needs=changes("script_new"),
)
def new(context: Context, args: Namespace) -> NewScriptAnswer:
    from binnacle.app.trust_review import grant_written
    from binnacle.project.tool_catalog import catalog_of

    if args.python and args.sh:
        raise UsageError("--python and --sh exclude each other", hint="give one of the two")
    alias = args.name
    if not is_alias(alias):
        raise InvalidInput(f"no alias: {alias!r}", hint="lower-case words joined by . and -: deploy.check")
    taken = shipped_scripts().by_tool() | find_project_scripts(context.project.repo).names()
    if is_reserved_tool(tool_name(alias)):
        hint = f"take a name that does not begin with {' or '.join(RESERVED_TOOL_PREFIXES)}"
        raise InvalidInput(f"{tool_name(alias)!r} is not for scripts", hint=hint)
    if tool_name(alias) in taken or tool_name(alias) in catalog_of(context.project):
        raise Duplicate(f"there is a script with the tool {tool_name(alias)!r}", hint="take another name")
    folder = scripts_folder(context.project.repo)
    values = {"alias": alias, "title": alias.replace(".", " ").replace("-", " ").capitalize()}
    values["category"] = alias.partition(".")[0]
    program = os.path.join(folder, alias + (".sh" if args.sh else ".py"))
    metadata = os.path.join(folder, alias + METADATA_SUFFIX)
    repo = context.project.repo
    _write(program, (SHELL if args.sh else PYTHON).format(**values), repo, mode=0o755)
    _write(metadata, METADATA.format(**values), repo, mode=0o644)
    grant_written(context.project, f"script:{alias}")
    step = f"edit both, then: bn trust script:{alias}"
    return NewScriptAnswer(alias=alias, files=[metadata, program], next=step)


def _write(path: str, content: str, repo: str, *, mode: int) -> None:

    try:
        write_inside(repo, path, content.encode(), mode=mode, is_new=True)
    except FileExistsError as error:
        raise Duplicate(f"the file exists already: {path}", hint="take another name, or remove it") from error
    except OSError as error:
        raise InvalidInput(f"cannot write {path}: {error.strerror}", hint=hint_of(error)) from error


def _show_build(answer: ManifestAnswer, screen: Screen) -> None:
    show_problems(answer.problems, screen)
    if answer.problems:
        screen.line(f"{answer.manifest} is unchanged")
    else:
        sign = screen.styled("✓", "green")
        screen.line(f"{sign} {answer.scripts} scripts, {answer.tools} of them tools: {answer.manifest}")


@SCRIPT.command(
    "build",
    "check every file of metadata and write manifest.json",
    "bn script build",
    arg("folder", nargs="?", metavar="DIR", help="where the metadata is; by default .binnacle/scripts"),
    view=_show_build,
    needs=by_person("write a manifest"),
)
def build(context: Context, args: Namespace) -> ManifestAnswer:
    from datetime import UTC, datetime

    folder = os.path.abspath(args.folder) if args.folder else scripts_folder(context.project.repo)
    if not os.path.isdir(folder):
        raise NotFound(f"no such directory: {folder}", hint="begin a script with: bn script new NAME")
    found = gather_scripts(
        folder, known=None if os.path.realpath(folder) == os.path.realpath(SHIPPED_FOLDER) else shipped_scripts()
    )
    tools = sum(one.metadata.mcp.enabled for one in found.manifest.scripts.values())
    answer = ManifestAnswer(
        manifest=os.path.join(folder, MANIFEST_FILE),
        scripts=len(found.manifest.scripts),
        tools=tools,
        problems=list_problems(found.problems),
        warnings=[f"{tools} tools: agents choose worse from more than {MAX_SCRIPTS}"] if tools > MAX_SCRIPTS else [],
    )
    if found.problems:
        context.exit_code = 1
        return answer
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return replace(answer, written=write_manifest(folder, found.manifest, now=now))
