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
from binnacle.bridge.new_script import check_new_alias, write_script
from binnacle.bridge.project_scripts import scripts_folder
from binnacle.cli.command import CommandAnswer, arg, by_person, changes
from binnacle.cli.commands.script import SCRIPT
from binnacle.cli.context import Context
from binnacle.cli.problem_list import ListedProblem, list_problems, show_problems
from binnacle.cli.screen import Screen, printable
from binnacle.errors import NotFound, UsageError


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
    catalog = catalog_of(context.project)
    check_new_alias(args.name, context.project.repo, lambda name: name in catalog)
    files = write_script(context.project.repo, args.name, language="sh" if args.sh else "python")
    grant_written(context.project, f"script:{args.name}")
    step = f"edit both, then: bn trust script:{args.name}"
    return NewScriptAnswer(alias=args.name, files=files, next=step)


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
