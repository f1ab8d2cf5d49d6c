"""Reads the commands of a project that run around the iterations of a run. They come with the repository, so a command
runs only after a person has trusted exactly this command (`config.trust`). `hook_runner` runs them.
"""

import os
import shlex
from collections.abc import Sequence
from typing import Annotated, Literal, get_args

from msgspec import Meta, Struct

from binnacle.config.command_words import command_words
from binnacle.config.directories import PROJECT_DIR
from binnacle.config.trust import TrustItem
from binnacle.config.yaml_file import YamlLines, load
from binnacle.errors import ConfigError, NotFound, did_you_mean

HookEvent = Literal[
    "session_start", "pre_iteration", "post_iteration", "on_task_complete", "on_attention", "on_error", "session_end"
]
HOOK_EVENTS: tuple[HookEvent, ...] = get_args(HookEvent)
EVENT_DESCRIPTIONS: dict[HookEvent, str] = {
    "session_start": "when it begins",
    "pre_iteration": "before each iteration",
    "post_iteration": "after each iteration",
    "on_task_complete": "when a task is finished",
    "on_attention": "when something waits for a person",
    "on_error": "when something fails",
    "session_end": "when it ends",
}

HOOK_FILES = (os.path.join(PROJECT_DIR, "hooks.yaml"), ".iteratr.hooks.yml")
"""Paths in a repository; the first that exists counts. The second is from an older system."""


class Hook(Struct, frozen=True, kw_only=True):
    """A command that runs when something happens."""

    event: HookEvent
    number: int
    """Its number among the hooks of its event, from 1."""

    command: tuple[str, ...]
    timeout: float = 30
    """Seconds."""

    pipe_output: bool = False
    """Whether the agent gets its output."""

    required: bool = False
    """Whether the run stops when it fails."""

    place: str = ""
    """`file:line` where it is written."""

    @property
    def name(self) -> str:
        return f"{self.event}.{self.number}"

    @property
    def words(self) -> str:
        """As a person would type it."""
        return shlex.join(self.command)


class _Entry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    command: str | list[str]
    timeout: Annotated[float, Meta(gt=0, le=86_400)] = 30
    pipe_output: bool = False
    required: bool = False


_Entries = str | _Entry | list[str | _Entry]


class _Events(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    session_start: _Entries | None = None
    pre_iteration: _Entries | None = None
    post_iteration: _Entries | None = None
    on_task_complete: _Entries | None = None
    on_attention: _Entries | None = None
    on_error: _Entries | None = None
    session_end: _Entries | None = None


class _File(_Events, frozen=True, kw_only=True, forbid_unknown_fields=True):
    version: Literal[1] = 1
    hooks: _Events | None = None
    """The older system had them one level down."""


def find_hooks(repo: str) -> list[Hook]:
    """The hooks of a project, in the order in which they run.

    Raises:
        ConfigError: with the file, the line, and what was expected.
    """
    for name in HOOK_FILES:
        path = os.path.join(repo, name)
        if os.path.lexists(path):
            return load_hooks(path, root=repo)
    return []


def load_hooks(path: str, *, root: str | None = None) -> list[Hook]:
    """The hooks of a file, in the repository `root`."""
    written, lines = load(path, _File, root=root)
    found = _read(written, lines, ())
    if written.hooks is None:
        return found
    if found:
        raise ConfigError(
            f"{found[0].place}: some hooks are under 'hooks' and some are not", hint="put them in one place"
        )
    return _read(written.hooks, lines, ("hooks",))


def _read(written: _Events, lines: YamlLines, above: tuple[str, ...]) -> list[Hook]:
    found = []
    for event in HOOK_EVENTS:
        entries = _read_entries(getattr(written, event), lines.at(*above, event))
        for index, entry in enumerate(entries):
            place = lines.at(*above, event, index)
            found.append(
                Hook(
                    event=event,
                    number=index + 1,
                    command=_command(entry.command, place),
                    timeout=entry.timeout,
                    pipe_output=entry.pipe_output,
                    required=entry.required,
                    place=place,
                )
            )
    return found


def _read_entries(given: _Entries | None, place: str) -> list[_Entry]:
    """One hook, several, or just a command: as text, or as a list of words."""
    if given is None:
        return []
    if isinstance(given, _Entry):
        return [given]
    if isinstance(given, str):
        return [_Entry(command=given)]
    words = [one for one in given if isinstance(one, str)]
    if words and len(words) < len(given):
        raise ConfigError(f"{place}: some are commands and some are not", hint="write each as: - command: make test")
    return [_Entry(command=words)] if words else [one for one in given if isinstance(one, _Entry)]


def _command(given: str | list[str], place: str) -> tuple[str, ...]:
    """The words of a command. Nothing is inserted into them, and no shell runs."""
    text = given if isinstance(given, str) else "\0".join(given)
    if "{{" in text:
        hint = "take it from the environment, BN_TASK_TITLE for instance, or from the JSON on standard input"
        raise ConfigError(f"{place}: values are not put into commands: {text!r}", hint=hint)
    return command_words(given, place)


def select_hooks(hooks: Sequence[Hook], names: Sequence[str]) -> list[Hook]:
    """The hooks that are named, by event or by event and number.

    Raises:
        NotFound: there is none of that name.
    """
    found = []
    for name in dict.fromkeys(names):
        chosen = [one for one in hooks if name in (one.event, one.name)]
        if not chosen:
            known = [*dict.fromkeys(one.event for one in hooks), *(one.name for one in hooks)]
            raise NotFound(f"no hook {name!r}", hint=did_you_mean(name, known) or "bn hook list names them")
        found += chosen
    return found


def find_trust_items(repo: str) -> list[TrustItem]:
    """The hooks of a project as a person sees them before trusting them."""
    return [trust_item_of(hook) for hook in find_hooks(repo)]


def trust_item_of(hook: Hook) -> TrustItem:
    """A hook as a person sees it before trusting it."""
    limits = f"timeout: {hook.timeout:g} s\npipe_output: {hook.pipe_output}\nrequired: {hook.required}"
    does = f"run {hook.words} in every run, {EVENT_DESCRIPTIONS[hook.event]}"
    return TrustItem(kind="hook", name=hook.name, place=hook.place, does=does, content=f"{hook.words}\n{limits}")
