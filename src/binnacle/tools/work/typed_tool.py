"""Turns a typed function of a transaction into a tool, with its schema, validation and description."""

from collections.abc import Callable, Iterable
from inspect import CO_VARKEYWORDS
from typing import Any, get_args, get_type_hints

import msgspec

from binnacle.store.transaction import Writer
from binnacle.tools.caller import Caller
from binnacle.tools.outcome import ToolReply
from binnacle.tools.tool_spec import ToolAlias, ToolErrorContract, ToolHints, ToolSpec
from binnacle.tools.work.access import StoreAccess
from binnacle.work.actor import Actor

Function = Callable[..., ToolReply]

_declared: list[tuple[Function, dict[str, Any]]] = []


def tool(
    *,
    title: str,
    category: str,
    aliases: Iterable[ToolAlias | str] = (),
    destructive: bool = False,
    idempotent: bool = False,
    claims: bool = False,
    errors: Iterable[tuple[str, str]] = (),
    synonyms: dict[str, str] | None = None,
    when: str = "",
) -> Callable[[Function], Function]:
    """Declares a function as a tool. Its first parameter says whether it reads (`Reader`) or writes (`Writer`).

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
        behaviour = {"destructive": destructive, "idempotent": idempotent, "claims": claims}
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
    writes = issubclass(hints[first], Writer)
    claims = options.pop("claims")
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

        def work(tx: Any) -> ToolReply:
            for name in actors:  # the caller is known only now: `access` identifies it first
                given[name] = caller.actor
            return function(tx, **given)

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
        timeout=None,
        **options,
    )


def _optional_fields(function: Function, hints: dict[str, Any]) -> dict[str, Any]:
    """The parameters that a function takes as `**fields: Unpack[…]`, which may be left out."""
    code = function.__code__
    if not code.co_flags & CO_VARKEYWORDS:
        return {}
    (fields,) = get_args(hints[code.co_varnames[code.co_argcount + code.co_kwonlyargcount]])
    return get_type_hints(fields, include_extras=True)
