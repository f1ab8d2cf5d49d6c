"""What the catalog knows about a tool."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from msgspec import Raw, Struct

from binnacle.tools.caller import Caller
from binnacle.tools.outcome import ToolReply

Run = Callable[[Caller, Any], Awaitable[ToolReply]]
"""Executes a call with valid arguments: a value of the tool's `parameters`."""


class ToolHints(Struct, frozen=True, kw_only=True):
    """How a tool behaves. Some clients run only read-only tools without asking the user."""

    read_only: bool
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False


class ToolAlias(Struct, frozen=True, kw_only=True):
    """Another name of a tool, for agents that remember it."""

    name: str
    item: str = ""
    """The list parameter whose single element the alias takes as its arguments: one task instead of tasks."""

    renames: Mapping[str, str] = {}
    """Parameter of the tool → what the alias calls it. The tool's own name is accepted too."""


class ToolErrorContract(Struct, frozen=True, kw_only=True):
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
    hints: ToolHints
    parameters: type[Struct]
    """What it takes. Schema and validation are derived from it."""

    run: Run
    aliases: tuple[ToolAlias, ...] = ()
    output: type[Struct] | None = None
    """The type of its data, if it helps an agent to know it beforehand."""

    timeout: float | None = 30.0
    """Seconds until a call is cancelled; None for tools that bound their own waits, such as the store's."""

    prerequisites: tuple[str, ...] = ()
    """Tools that must be called before this one."""

    errors: tuple[ToolErrorContract, ...] = ()
    prefix: bool = False
    """Whether errors read `[E_CODE] message`, as for scripts and upstream tools, or `error: message`, as for work."""

    has_remarks: bool = False
    """Whether its hints and answers name tools without knowing which a session has; see `tools.host_remarks`."""

    foreign: Raw | None = None
    """The entry of an upstream tool, as its server wrote it. Its arguments are forwarded unchanged."""

    promises_structure: bool = False
    """Whether an upstream tool has an output schema, so that clients would refuse our envelope."""

    opens_session: bool = False
    """Whether it establishes who calls from now on, so that it may be called before that is known."""

    joins: bool = False
    """Whether every session that accepts foreign tools gets it, although no recipe names it."""

    synonyms: Mapping[str, str] = {}
    """Other names accepted for parameters, at any depth. A parameter that maps to "" is accepted and dropped."""
