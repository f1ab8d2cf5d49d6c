"""Scripts collected from their metadata: `manifest.json`, which loads without YAML."""

import os
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import msgspec
from msgspec import Struct

from binnacle.bridge.metadata import METADATA_SUFFIX, ScriptMetadata, load_metadata
from binnacle.config.atomic_write import write_atomically
from binnacle.config.repository_files import hint_of, is_file_inside, is_folder_inside, read_file, root_of, write_inside
from binnacle.errors import ConfigError, NextStep, did_you_mean

MANIFEST_VERSION = 2
MANIFEST_FILE = "manifest.json"
SHIPPED_FOLDER = os.path.join(os.path.dirname(__file__), "scripts")
"""The scripts that hosts run, which come with the program."""

BUILD_AGAIN = NextStep("build it again", "script build", for_person=True)

MAX_SCRIPTS = 50
"""Number of tools from which on agents choose worse."""


class ScriptEntry(Struct, frozen=True, kw_only=True, rename="camel"):
    """A script of a manifest."""

    metadata: ScriptMetadata
    script_rel_path: str = ""
    """The program, relative to the manifest's folder; empty for a script of a host."""


class ScriptManifest(Struct, frozen=True, kw_only=True, rename="camel"):
    """Scripts by their alias."""

    version: int = MANIFEST_VERSION
    generated_at: str = ""
    scripts: dict[str, ScriptEntry] = {}

    def by_tool(self) -> dict[str, str]:
        """Every name of a tool → alias."""
        return {
            name: alias
            for alias, entry in self.scripts.items()
            for name in (entry.metadata.tool, *entry.metadata.mcp.aliases)
        }


class GatheredScripts(NamedTuple):
    """The scripts of a folder."""

    manifest: ScriptManifest
    files: dict[str, str]
    """The metadata of each alias."""

    problems: list[ConfigError]


@cache
def shipped_scripts() -> ScriptManifest:
    """The scripts that hosts run."""
    return read_manifest(os.path.join(SHIPPED_FOLDER, MANIFEST_FILE))


def read_manifest(file: str) -> ScriptManifest:
    """Reads a manifest.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        found = msgspec.json.decode(read_file(file), type=ScriptManifest)
    except (OSError, msgspec.DecodeError) as error:
        raise ConfigError(f"cannot read {file}: {error}", hint=BUILD_AGAIN) from error
    if found.version != MANIFEST_VERSION:
        raise ConfigError(f"{file}: version {found.version} is not {MANIFEST_VERSION}", hint=BUILD_AGAIN)
    return found


def gather_scripts(folder: str, *, known: ScriptManifest | None = None) -> GatheredScripts:
    """The scripts of a directory, and what is wrong with the others.

    `known` are other scripts: their names are taken, and relations may lead to them.
    """
    scripts: dict[str, ScriptEntry] = {}
    files: dict[str, str] = {}
    problems: list[ConfigError] = []
    names = {name: f"the script {alias}" for name, alias in known.by_tool().items()} if known else {}
    for file in metadata_files(folder):
        try:
            found = load_metadata(file)
            _check_names(found, file, names)
        except ConfigError as error:
            problems.append(error)
            continue
        names |= dict.fromkeys((found.tool, *found.mcp.aliases), file)
        scripts[found.alias] = ScriptEntry(metadata=found, script_rel_path=_program(file, folder))
        files[found.alias] = file
    everything = [*scripts, *(known.scripts if known else ())]
    for alias, entry in list(scripts.items()):
        for problem in _lost_relations(entry.metadata, files[alias], everything):
            problems.append(problem)
            scripts.pop(alias, None)
    return GatheredScripts(ScriptManifest(scripts=dict(sorted(scripts.items()))), files, problems)


def metadata_files(folder: str) -> Iterator[str]:
    """Every file of metadata in a directory and below it."""
    if (root := root_of(folder)) is not None and not is_folder_inside(root, folder):
        return
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__")))
        yield from (os.path.join(here, name) for name in sorted(names) if name.endswith(METADATA_SUFFIX))


def write_manifest(folder: str, made: ScriptManifest, *, now: str) -> bool:
    """Writes `manifest.json`; false if nothing changed."""
    file = os.path.join(folder, MANIFEST_FILE)
    try:
        before = read_manifest(file)
    except ConfigError:
        before = None
    if before is not None and before.scripts == made.scripts:
        return False
    content = msgspec.json.format(msgspec.json.encode(msgspec.structs.replace(made, generated_at=now)), indent=1)
    try:
        if (root := root_of(file)) is not None:
            write_inside(root, file, content + b"\n", mode=0o644)
        else:
            write_atomically(file, content + b"\n", mode=0o644)
    except OSError as error:
        hint = hint_of(error, "check permissions and free space")
        raise ConfigError(f"cannot write {file}: {error.strerror}", hint=hint) from error
    return True


def _check_names(found: ScriptMetadata, file: str, taken: dict[str, str]) -> None:
    for name in (found.tool, *found.mcp.aliases):
        if name in taken:
            raise ConfigError(
                f"{file}: its tool would be called {name!r}, as that of {taken[name]}",
                hint="change the alias, or give another name in mcp.tool",
            )


def _lost_relations(found: ScriptMetadata, file: str, known: list[str]) -> Iterator[ConfigError]:
    relations = found.mcp.relationships
    for word in (*relations.requires, *relations.recommended, *relations.conflicts):
        if word not in known:
            hint = did_you_mean(word, known)
            yield ConfigError(f"{file}: mcp.relationships: no script {word!r}", hint=hint)


def _program(file: str, folder: str) -> str:
    """The program next to its metadata: the executable file with the same name and any suffix."""
    base = file.removesuffix(METADATA_SUFFIX)
    here = os.path.dirname(file)
    for name in sorted(os.listdir(here)):
        path = os.path.join(here, name)
        is_beside = path == base or path.startswith(f"{base}.")
        if is_beside and not name.endswith(METADATA_SUFFIX) and _is_program(path):
            return os.path.relpath(path, folder)
    return ""


def _is_program(path: str) -> bool:
    """Whether a file is executable and inside the project."""
    root = root_of(path)
    is_plain = os.path.isfile(path) if root is None else is_file_inside(root, path)
    return is_plain and os.access(path, os.X_OK)
