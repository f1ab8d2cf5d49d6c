"""What the catalog knows of a tool."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec import Raw, Struct

from binnacle.tools.caller import Caller
from binnacle.tools.outcome import ToolReply

Run = Callable[[Caller, Any], Awaitable[ToolReply]]
"""Executes a call whose arguments were found valid: a value of the tool's `parameters`."""


class Hints(Struct, frozen=True, kw_only=True):
    """How a tool behaves. Some clients run a tool unasked only if it says that it reads."""

    read_only: bool
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False


class Alias(Struct, frozen=True, kw_only=True):
    """Another name of a tool, for agents that remember it."""

    name: str
    item: str = ""
    """The list parameter whose single element the alias takes as its arguments: one task instead of tasks."""

    renames: Mapping[str, str] = {}
    """Parameter of the tool → what the alias calls it. The tool's own name is accepted too."""


class Contract(Struct, frozen=True, kw_only=True):
    """An error that a tool may answer with, and what to do then."""

    code: str
    when: str


class ToolSpec(Struct, frozen=True, kw_only=True):
    """A tool: what it is called, what it takes, how it behaves, and who executes it."""

    name: str
    """`thing_action`. Never changed: prompts and people remember it."""

    title: str
    description: str
    when_to_use: str = ""
    category: str
    hints: Hints
    parameters: type[Struct]
    """What it takes. Schema and validation are derived from it."""

    run: Run
    aliases: tuple[Alias, ...] = ()
    output: type[Struct] | None = None
    """What its data looks like, where an agent gains by knowing beforehand."""

    timeout: float | None = 30.0
    """Seconds until a call is given up; None for what bounds every wait of its own, as the store's tools do."""

    prerequisites: tuple[str, ...] = ()
    """Tools to be called before this one."""

    errors: tuple[Contract, ...] = ()
    prefix: bool = False
    """Whether errors read `[E_CODE] message`, as for scripts and upstream tools, or `error: message`, as for work."""

    has_remarks: bool = False
    """Whether its hints and answers name tools without knowing which of them a session has; see `tools.remarks`."""

    foreign: Raw | None = None
    """The entry of another server's tool, as that server wrote it. Its arguments are passed on as they came."""

    promises_structure: bool = False
    """Whether another server's schema says what its structured results are, so that ours would be refused."""

    opens_session: bool = False
    """Whether it says who calls from now on, so that it may be called before that is known."""

    joins: bool = False
    """Whether it comes to every session that lets the tools of others join, although no recipe names it."""

    synonyms: Mapping[str, str] = {}
    """Other words accepted for parameters, at any depth; what maps to nothing is accepted and dropped."""
