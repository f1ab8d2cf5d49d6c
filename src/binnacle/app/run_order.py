"""What a person orders of a run that is started for them, and the `bn run` command that does it."""

import os
import re

from msgspec import Struct

from binnacle.errors import InvalidInput
from binnacle.plan.session_files import bn_command
from binnacle.runner.agents.permissions import Approve
from binnacle.runner.budget import RunBudget

MAX_SPECIFICATION_BYTES = 4 << 20

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


class RunOrder(Struct, frozen=True, kw_only=True):
    """What a person asks of a run that is started for them."""

    name: str = ""
    specification: str = ""
    """Its text, which is written to a file; or `spec_file` names one, or neither is given."""

    spec_file: str = ""
    """Relative to the folder in which the run is started."""

    tasks: tuple[str, ...] = ()
    """Only these tasks; without any, those of the feature, or all."""

    feature: str = ""
    agent: str = ""
    """If empty, the project's (`run.agent`)."""

    model: str = ""
    workers: int = 1
    worktree: bool = False
    approve: Approve | None = None
    iterations: int | None = None
    minutes: float | None = None
    tokens: int | None = None
    cost: float | None = None
    resume: bool = False
    """Whether to resume the run of this name."""

    allow_gaps: bool = False


def command_of(order: RunOrder, workspace: str, *, spec_path: str) -> list[str]:
    """The command of an order; `spec_path` is the file to which its specification is written.

    Raises:
        InvalidInput: something in it is wrong.
    """
    _check(order)
    # Values are joined to their options, so that none can be taken for an option.
    given: list[tuple[str, object]] = [
        ("name", order.name or _make_name(order)),
        ("agent", order.agent),
        ("model", order.model),
        ("feature", order.feature),
        *(("task", one) for one in order.tasks),
        ("workers", order.workers if order.workers != 1 else None),
        ("approve", order.approve),
        ("iterations", order.iterations),
        *(("budget", f"{kind}={amount:g}") for kind, amount in _budget(order).items()),
    ]
    spec = spec_path if order.specification else order.spec_file
    flags = {"resume": order.resume, "worktree": order.worktree, "allow-gaps": order.allow_gaps}
    return [
        bn_command(),
        "-C",
        workspace,
        "run",
        *([spec if spec.startswith("/") else os.path.join(workspace, spec)] if spec else []),
        *(f"--{name}={value}" for name, value in given if value not in (None, "")),
        *(f"--{name}" for name, is_set in flags.items() if is_set),
        "--headless",
    ]


def _budget(order: RunOrder) -> dict[str, float]:
    wanted = RunBudget(minutes=order.minutes, tokens=order.tokens, cost=order.cost)
    return dict(wanted.limits)


def _check(order: RunOrder) -> None:
    if order.name and not _NAME.fullmatch(order.name):
        raise InvalidInput(f"not a name for a run: {order.name!r}", hint="letters, digits, - and _, 64 at most")
    if not 1 <= order.workers <= 64:
        raise InvalidInput(f"not a number of workers: {order.workers}", hint="1 to 64")
    if len(order.specification.encode()) > MAX_SPECIFICATION_BYTES:
        raise InvalidInput("the specification is too long", hint=f"at most {MAX_SPECIFICATION_BYTES >> 20} MiB")
    kinds = [bool(order.specification.strip()), bool(order.spec_file), bool(order.tasks)]
    if sum(kinds) > 1:
        raise InvalidInput("a run has a specification, or a file with one, or tasks", hint="choose one of them")
    if order.resume and not order.name:
        raise InvalidInput("no run is named that is to be resumed", hint="give its name")
    for kind in ("iterations", "minutes", "tokens", "cost"):
        amount = getattr(order, kind)
        if amount is not None and amount <= 0:
            raise InvalidInput(f"not a number of {kind}: {amount:g}", hint="a number above 0")


def _make_name(order: RunOrder) -> str:
    """The name of a run whose specification is a text: its first words. Others are named by `bn run`."""
    if not order.specification.strip():
        return ""
    title = order.specification.strip().splitlines()[0].lstrip("# ")
    return re.sub(r"[^A-Za-z0-9_]+", "-", title).strip("-").lower()[:40] or "run"


def name_in(command: list[str]) -> str:
    """The name of the run that a command starts; empty if `bn run` names it."""
    return next((word.removeprefix("--name=") for word in command if word.startswith("--name=")), "")
