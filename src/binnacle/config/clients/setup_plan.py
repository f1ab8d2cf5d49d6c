"""Decides what to change in each file, then changes it.

Deciding changes nothing, so a dry run, the check of all files before the first is written, and the change itself use
the same decision. The change decides again under a lock, because a client may have written the file meanwhile.
"""

from collections.abc import Callable
from functools import partial
from typing import Literal, NamedTuple

from binnacle.config.clients import agents_section
from binnacle.config.clients.config_text import NAME, ConfigText, EntryPlace, TextEditor, find_recipe
from binnacle.config.clients.foreign_files import backups, locked, read, write
from binnacle.config.clients.known_clients import KnownClient
from binnacle.errors import ConfigError

Action = Literal["created", "updated", "unchanged", "removed", "skipped"]

AGENTS = "agents"
"""Stands for AGENTS.md in place of a client's name."""

_BOM = "\ufeff"


class SetupTarget(NamedTuple):
    """A file to change, and its client."""

    client: str
    path: str
    editor: TextEditor
    root: str | None = None
    """The checkout that the file belongs to; None for the person's own files."""


class FileChange(NamedTuple):
    """The change of one file."""

    target: SetupTarget
    action: Action
    remove: bool
    before: str | None = None
    after: str | None = None
    backup: str | None = None
    error: ConfigError | None = None
    """Why the file was not changed."""


def agents_target(path: str, *, root: str | None = None) -> SetupTarget:
    """AGENTS.md with our section, in the checkout `root`."""

    return SetupTarget(AGENTS, path, TextEditor(agents_section.put, agents_section.take, agents_section.BEGIN), root)


def client_target(
    client: KnownClient, path: str, *, allow: bool = False, recipe: str | None = None, root: str | None = None
) -> SetupTarget:
    """A client's file with our entry; with `allow`, the entry allows calls of our tools without asking.

    Args:
        recipe: the recipe that the server is started with; None keeps the person's earlier choice.
    """
    plain = EntryPlace(client.container, client.entry, client.additions, recipe)
    allowing = plain._replace(entry={**client.entry, **client.allowing})
    edit = partial(_edit_format, client)

    def puts(text: str) -> tuple[Callable[[ConfigText], str], ...]:
        found = find_recipe(text)
        return tuple(partial(edit, "put", place._replace(recipe=found)) for place in (plain, allowing))

    place = allowing if allow else plain
    return SetupTarget(
        client.name, path, TextEditor(partial(edit, "put", place), partial(edit, "take", place), NAME, puts), root
    )


def _edit_format(client: KnownClient, verb: str, place: EntryPlace, source: ConfigText) -> str:
    """Edits a text in the client's format. Only that format's code is loaded, because YAML is slow to import."""
    from importlib import import_module

    module = import_module(f"binnacle.config.clients.{client.format}")
    edited: str = getattr(module, verb)(source, place)
    return edited


def plan(target: SetupTarget, *, remove: bool) -> FileChange:
    """The planned change of a file. It changes nothing; a file that cannot be changed is skipped with the reason."""
    try:
        return _decide(target, remove=remove)
    except ConfigError as error:
        return FileChange(target, "skipped", remove=remove, error=error)


def carry_out(planned: FileChange) -> FileChange:
    """Changes a file as planned, completely or not at all, and returns the actual change."""
    if planned.error or planned.before == planned.after:
        return planned
    target, remove = planned.target, planned.remove
    try:
        with locked(target.path, root=target.root):
            change = _decide(target, remove=remove)
            if change.before == change.after:
                return change
            return change._replace(backup=_write(target, change))
    except ConfigError as error:
        return FileChange(target, "skipped", remove=remove, error=error)


def _write(target: SetupTarget, change: FileChange) -> str | None:
    return write(target.path, before=change.before, after=change.after, root=target.root)


def _decide(target: SetupTarget, *, remove: bool) -> FileChange:
    before = read(target.path, root=target.root)
    if not remove:
        after: str | None = _put(target, before or "")
        action: Action = "created" if before is None else "unchanged" if after == before else "updated"
    elif before is None:
        after, action = None, "skipped"
    else:
        after = _take(target, before)
        action = "unchanged" if after == before else "removed"
    return FileChange(target, action, remove, before, after)


def _take(target: SetupTarget, text: str) -> str | None:
    """The text without our entry, None if the file should be removed.

    If adding our entry to a backup gives exactly this text, that backup is the result: so spaces and empty objects are
    restored exactly. The same applies to a file that did not exist.
    """
    if target.editor.mark not in text:
        return text
    for earlier in (*backups(target.path, root=target.root), None):
        if _is_origin(target, earlier or "", text):
            return earlier
    return _edit(target, text, target.editor.take)


def _is_origin(target: SetupTarget, earlier: str, text: str) -> bool:
    try:
        puts = (target.editor.put, *target.editor.puts(text))
        return _edit(target, earlier, target.editor.take) == earlier and any(
            _edit(target, earlier, put) == text for put in puts
        )
    except ConfigError:
        return False


def _put(target: SetupTarget, text: str) -> str:
    return _edit(target, text, target.editor.put)


def _edit(target: SetupTarget, text: str, change: Callable[[ConfigText], str]) -> str:
    bom = _BOM if text.startswith(_BOM) else ""
    source = ConfigText(target.path, text.removeprefix(_BOM))
    return bom + change(source)
