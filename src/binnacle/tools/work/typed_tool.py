"""Turns a typed function of a transaction into a tool, with its schema, validation and description.

What has to be read elsewhere meanwhile, such as a commit, does not fit into a transaction. A tool that does so is a
coroutine of a `StoreCall`, which has a transaction for each of its parts.
"""

from collections.abc import Callable, Coroutine, Iterable
from inspect import CO_VARKEYWORDS
from typing import Any, NamedTuple, TypeVar, get_args, get_type_hints

import msgspec

from binnacle.store.transaction import Reader, Writer
from binnacle.tools.caller import Caller
from binnacle.tools.outcome import ToolReply
from binnacle.tools.tool_spec import ToolAlias, ToolErrorContract, ToolHints, ToolSpec
from binnacle.tools.work.access import StoreAccess
from binnacle.work.actor import Actor

Function = Callable[..., ToolReply | Coroutine[Any, Any, ToolReply]]
Result = TypeVar("Result")

CALL_TIMEOUT_SECONDS = 60.0
"""Seconds for a tool that does more than a transaction."""


class StoreCall(NamedTuple):
    """A call of a tool that needs several transactions."""

    caller: Caller
    access: StoreAccess

    async def read(self, look: Callable[[Reader], Result]) -> Result:
        """The result of `look` in a transaction of its own."""
        return await self.access.run(self.caller, look, writes=False)

    async def write(self, change: Callable[[Writer], Result]) -> Result:
        """The result of `change` in a transaction of its own, made by the caller."""
        return await self.access.run(self.caller, change, writes=True)


_declared: list[tuple[Function, dict[str, Any]]] = []


def tool(
    *,
    title: str,
    category: str,
    aliases: Iterable[ToolAlias | str] = (),
    destructive: bool = False,
    idempotent: bool = False,
    claims: bool = False,
    writes: bool = False,
    errors: Iterable[tuple[str, str]] = (),
    synonyms: dict[str, str] | None = None,
    when: str = "",
) -> Callable[[Function], Function]:
    """Declares a function as a tool. Its first parameter says whether it reads (`Reader`) or writes (`Writer`).

    If that is a `StoreCall`, the function is a coroutine, and `writes` says whether it changes anything.

    The tool has the function's name, its docstring as description, and its other parameters. Parameters of
    `**fields: Unpack[…]` may be left out, and then the function does not get them. A parameter of the type `Actor`
    is not a parameter of the tool: it receives the caller.
    """

    def declare(function: Function) -> Function:
        options: dict[str, Any] = {
            "title": title,
            "category": category,
            "aliases": tuple(ToolAlias(name=one) if isinstance(one, str) else one for one in aliases),
            "errors": tuple(ToolErrorContract(code=code, when=text) for code, text in errors),
            "synonyms": synonyms or {},
            "when_to_use": when,
        }
        behaviour = {"destructive": destructive, "idempotent": idempotent, "claims": claims, "writes": writes}
        _declared.append((function, options | behaviour))
        return function

    return declare


def specs(access: StoreAccess) -> list[ToolSpec]:
    """Every declared tool, executed through `access`."""
    return [_spec(function, dict(options), access) for function, options in _declared]


def declared_names() -> list[str]:
    """The names of all declared tools, including aliases."""
    return [
        name
        for function, options in _declared
        for name in (function.__name__, *(alias.name for alias in options["aliases"]))
    ]


def _spec(function: Function, options: dict[str, Any], access: StoreAccess) -> ToolSpec:
    hints = get_type_hints(function, include_extras=True)
    code = function.__code__
    first, *others = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    names = [name for name in others if hints[name] is not Actor]
    actors = [name for name in others if hints[name] is Actor]
    optional = _optional_fields(function, hints)
    is_call = hints[first] is StoreCall
    writes, claims = options.pop("writes") or (not is_call and issubclass(hints[first], Writer)), options.pop("claims")
    behaviour = ToolHints(
        read_only=not writes,
        destructive=options.pop("destructive"),
        idempotent=options.pop("idempotent") or not writes,
    )
    positional = code.co_varnames[: code.co_argcount]
    defaults = {
        **dict(zip(reversed(positional), reversed(function.__defaults__ or ()), strict=False)),
        **(function.__kwdefaults__ or {}),
    }
    fields: list[Any] = [
        (name, hints[name], defaults[name]) if name in defaults else (name, hints[name]) for name in names
    ]
    fields += [(name, kind | None, None) for name, kind in optional.items()]
    parameters = msgspec.defstruct(function.__name__, fields, kw_only=True, forbid_unknown_fields=True)

    async def run(caller: Caller, values: Any) -> ToolReply:
        given = {name: getattr(values, name) for name in names}
        for name in optional:
            if (value := getattr(values, name)) is not None:
                given[name] = value

        if is_call:
            called: Any = function(StoreCall(caller, access), **given)
            answer: ToolReply = await called
            return answer

        def work(tx: Any) -> ToolReply:
            for name in actors:  # the caller is known only now: `access` identifies it first
                given[name] = caller.actor
            made: Any = function(tx, **given)
            return made  # type: ignore[no-any-return]

        reply = await access.run(caller, work, writes=writes, claims=claims)
        if reply.request is not None and access.done_requests is not None:
            return await access.done_requests.answer(caller, reply.request)
        return reply

    description = " ".join((function.__doc__ or "").split())
    return ToolSpec(
        name=function.__name__,
        description=description,
        parameters=parameters,
        hints=behaviour,
        run=run,
        timeout=CALL_TIMEOUT_SECONDS if is_call else None,
        **options,
    )


def _optional_fields(function: Function, hints: dict[str, Any]) -> dict[str, Any]:
    """The parameters that a function takes as `**fields: Unpack[…]`, which may be left out."""
    code = function.__code__
    if not code.co_flags & CO_VARKEYWORDS:
        return {}
    (fields,) = get_args(hints[code.co_varnames[code.co_argcount + code.co_kwonlyargcount]])
    return get_type_hints(fields, include_extras=True)
