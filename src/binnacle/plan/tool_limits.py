"""Applies the limits of a session to its tools: which parameters they take, which tasks they may be used on."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Annotated, Any, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo

from binnacle.errors import NotReady, Refused
from binnacle.plan.recipe import Scope, ToolRule, task_parameter
from binnacle.store import dependencies, tasks
from binnacle.store.transaction import Reader
from binnacle.tools.caller import Caller
from binnacle.tools.catalog import Catalog
from binnacle.tools.exposed_tool import ExposedTool
from binnacle.tools.outcome import ToolReply
from binnacle.tools.tool_spec import ToolAlias, ToolSpec
from binnacle.tools.work.access import StoreAccess
from binnacle.work import steps
from binnacle.work.actor import Actor
from binnacle.work.status import Status
from binnacle.work.task import Task

Check = Callable[[Caller, str | None, Scope], Awaitable[str]]
"""Finds the task that a call means, and refuses one outside the scope."""

CREATES, BATCH = "task_add", "tasks"
"""The tool whose tasks get the recipe's `created_status`, and its parameter that holds them."""

KEPT_TO = (CREATES, "task_list", "task_next", "task_claim")
"""The tools with the session's feature as default, if the recipe keeps to the feature."""


def expose(
    rule: ToolRule,
    catalog: Catalog,
    *,
    created_status: Status | None,
    task: str | None,
    feature: str | None = None,
    check: Check | None = None,
) -> ExposedTool:
    """A tool as a session sees it. `feature` is the default of tools that keep to a feature.

    Without `check`, a tool with a task scope can be shown but not called.
    """
    spec, alias = catalog.find(rule.name)
    if feature is not None and spec.name in KEPT_TO:
        spec = _keep_to_feature(spec, feature)
    if created_status is not None and spec.name == CREATES:
        spec = _fix_status(spec, created_status)
    if rule.only:
        spec = _with_parameters(spec, _keep_parameters(spec.parameters, alias, rule.only))
    if rule.task != "any":
        spec = _limit_tasks(spec, rule.task, task, check)
    return ExposedTool(rule.name, spec, alias)


def task_check(access: StoreAccess, own: str | None) -> Check:
    """A check against the session's task, or, without one, against the task that the caller holds."""

    async def check(caller: Caller, given: str | None, scope: Scope) -> str:
        return await access.run(
            caller, lambda tx: check_scope(tx, caller.actor, given or own, own=own, scope=scope), writes=False
        )

    return check


def check_scope(tx: Reader, by: Actor, given: str | None, *, own: str | None, scope: Scope) -> str:
    """The task that a call means: `given`, or else the session's `own`, or the one that `by` holds.

    Raises:
        NotReady: the session works on no task.
        Refused: the task is outside the scope.
    """
    mine = [tasks.get(tx, own)] if own else tasks.list_held_by(tx, by.name)
    if not mine:
        raise NotReady("this session works on no task", hint=steps.ASK_FOR_TASK)
    meant = tasks.get(tx, given) if given else mine[0]
    if any(meant.id == task.id or (scope == "near" and _is_near(tx, meant, task)) for task in mine):
        return meant.id
    around = ", one of its feature or one that waits for it" if scope == "near" else ""
    raise Refused(
        f"{meant.id} is not the task of this session ({mine[0].id}){around}",
        hint=f"leave {meant.id} as it is; write what you found about it in a comment on {mine[0].id}",
        details={"task": mine[0].id},
    )


def _is_near(tx: Reader, task: Task, own: Task) -> bool:
    if task.feature is not None and task.feature == own.feature:
        return True
    return any(known.depends_on == own.id for known in dependencies.dependencies_of(tx, [task.id]).get(task.id, ()))


def _limit_tasks(spec: ToolSpec, scope: Scope, own: str | None, check: Check | None) -> ToolSpec:
    """The tool limited to tasks within a scope. The default is the session's own task."""
    name = task_parameter(spec)
    assert name is not None, "the recipe was checked when it was loaded"
    told = Annotated[str | None, msgspec.Meta(description=f"{own or 'the task you work on'} when left out")]
    fields = msgspec.structs.fields(spec.parameters)
    parameters = _make_struct(spec.parameters, (_field(one, told, None) if one.name == name else one for one in fields))

    async def run(caller: Caller, values: Any) -> ToolReply:
        assert check is not None
        meant = await check(caller, getattr(values, name), scope)
        given = {one: getattr(values, one) for one in values.__struct_fields__} | {name: meant}
        return await spec.run(caller, spec.parameters(**given))

    return msgspec.structs.replace(spec, parameters=parameters, run=run)


def _keep_to_feature(spec: ToolSpec, feature: str) -> ToolSpec:
    """The tool with `feature` as the default of every optional feature."""
    parameters = spec.parameters
    if spec.name == CREATES:
        element = _default_feature(_element(parameters, BATCH), feature)
        parameters = _with_elements(parameters, BATCH, element)
    return _with_parameters(spec, _default_feature(parameters, feature))


def _default_feature(parameters: type[Struct], feature: str) -> type[Struct]:
    told = Annotated[str | None, msgspec.Meta(description=f"{feature} when left out")]
    fields = msgspec.structs.fields(parameters)
    return _make_struct(
        parameters,
        (_field(one, told, feature) if one.name == "feature" and one.default is None else one for one in fields),
    )


def _with_elements(parameters: type[Struct], name: str, element: type[Struct]) -> type[Struct]:
    """The parameters with `name` as a list of `element`."""
    fields = {one.name: one for one in msgspec.structs.fields(parameters)}
    about = get_args(fields[name].type)[1:] if get_origin(fields[name].type) is Annotated else ()
    batch: Any = tuple[element, ...]  # type: ignore[valid-type]
    for one in about:
        batch = Annotated[batch, one]
    return _make_struct(parameters, (fields | {name: _field(fields[name], batch, fields[name].default)}).values())


def _fix_status(spec: ToolSpec, status: Status) -> ToolSpec:
    """The tool that adds tasks, always with this status. A status that an agent passes is accepted and ignored."""
    fields = (*_element(spec.parameters, BATCH).__struct_fields__, *spec.parameters.__struct_fields__)
    others = [name for name in fields if name != "status"]
    narrowed = _keep_parameters(spec.parameters, ToolAlias(name="", item=BATCH), others)

    async def run(caller: Caller, values: Any) -> ToolReply:
        full = msgspec.convert(values, spec.parameters, from_attributes=True)
        made = tuple(msgspec.structs.replace(one, status=status) for one in getattr(full, BATCH))
        return await spec.run(caller, msgspec.structs.replace(full, **{BATCH: made}))

    return msgspec.structs.replace(spec, parameters=narrowed, run=run, synonyms={**spec.synonyms, "status": ""})


def _with_parameters(spec: ToolSpec, parameters: type[Struct]) -> ToolSpec:
    """The tool with fewer parameters. The removed ones keep their defaults."""

    async def run(caller: Caller, values: Any) -> ToolReply:
        return await spec.run(caller, msgspec.convert(values, spec.parameters, from_attributes=True))

    return msgspec.structs.replace(spec, parameters=parameters, run=run)


def _keep_parameters(parameters: type[Struct], alias: ToolAlias | None, names: Iterable[str]) -> type[Struct]:
    """The parameters without the optional ones that are not in `names`, which are the alias' names."""
    own = {shown: name for name, shown in alias.renames.items()} if alias else {}
    kept = {own.get(name, name) for name in names}

    def keep(struct: type[Struct]) -> type[Struct]:
        return _make_struct(struct, (one for one in msgspec.structs.fields(struct) if one.required or one.name in kept))

    narrowed = keep(parameters)
    if alias is None or not alias.item:
        return narrowed
    return _with_elements(narrowed, alias.item, keep(_element(parameters, alias.item)))


def _element(parameters: type[Struct], name: str) -> type[Struct]:
    """The element type of the list parameter `name`."""
    kind = next(one.type for one in msgspec.structs.fields(parameters) if one.name == name)
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    element: type[Struct] = get_args(kind)[0]
    return element


def _field(one: FieldInfo, kind: Any, default: Any) -> FieldInfo:
    return FieldInfo(name=one.name, encode_name=one.encode_name, type=kind, default=default, default_factory=NODEFAULT)


def _make_struct(like: type[Struct], fields: Iterable[FieldInfo]) -> type[Struct]:
    described: list[Any] = []
    for one in fields:
        default = (
            msgspec.field(default_factory=one.default_factory) if one.default_factory is not NODEFAULT else one.default
        )
        described.append((one.name, one.type) if default is NODEFAULT else (one.name, one.type, default))
    said = {"__doc__": like.__doc__}
    return msgspec.defstruct(like.__name__, described, namespace=said, kw_only=True, forbid_unknown_fields=True)
