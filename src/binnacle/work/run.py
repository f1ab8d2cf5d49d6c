"""Runs: agents that work until what was asked for is done; what people send to them, and what waits for people."""

from datetime import datetime
from typing import Literal, NewType

from msgspec import Struct

RunId = NewType("RunId", str)

MessageKind = Literal["message", "stop"]
"""What people send to the sessions of a run: a message for the agent, or that the run is to stop."""

AttentionKind = Literal["permission", "question", "review", "stuck", "ended"]
"""Why something waits for a person: an agent wants to do what its policy does not allow, asks something, wants a
review, gave up on a task; or a run ended."""

RunState = Literal["working", "paused", "interrupted", "ended"]
"""How a run stands. `interrupted`: it has not ended, and no process drives it, so that it can be resumed."""

AttemptOutcome = Literal[
    "", "done", "partial", "blocked", "question", "unfinished", "unproven", "failed", "conflict", "repeating", "limit",
    "review", "stopped",
]  # fmt: skip
"""What an attempt led to. Empty while it is under way; `done` when the task is closed; `unfinished` if the agent ended
without a report; `unproven` if it called the task done and its checks do not show that; `failed` if the agent failed;
`repeating` if it did the same again and again; `limit` if it took too much; `review` if it is proven and somebody has
to accept its change, and also if they asked for changes; `stopped` if the run was stopped, which
does not count as an attempt."""


class RunRecord(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run in the store, by whatever machines it is driven."""

    id: RunId
    name: str
    feature: str | None = None
    asked: str = ""
    """The specification, whole."""

    asked_file: str = ""
    tasks: tuple[str, ...] = ()
    """The tasks that it is about, with their parts; if empty, those of its feature, or all."""

    is_planned: bool = False
    """Whether the planning of `asked` is finished."""

    base: str = ""
    """The commit from which it began."""

    branch: str = ""
    """The branch in which its changes come together; empty if it works in the person's folder."""

    head: str = ""
    """The newest commit with its changes, as of its last end."""

    remote: str = ""
    """The git remote by which its machines exchange their work."""

    status: Literal["active", "ended"] = "active"
    why: str = ""
    """Why it ended last, in a word."""

    said: str = ""
    """The same, in a sentence."""

    is_paused: bool = False
    budget: dict[str, float] = {}
    """The most that it may take: of iterations, minutes, tokens and cost, as given when it was last started."""

    seconds: float = 0.0
    """How long it was driven, over all machines and resumes."""

    created_at: datetime
    ended_at: datetime | None = None


def state_of_run(status: str, *, is_paused: bool, is_driven: bool) -> RunState:
    """How a run stands; `is_driven` is whether a process drives it now, on whatever machine."""
    if status == "ended" and not is_driven:
        return "ended"
    if not is_driven:
        return "interrupted"
    return "paused" if is_paused else "working"


class RunMessage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a person sends to one session of a run, from wherever they are."""

    number: int
    run: RunId
    session: str
    kind: MessageKind
    body: str = ""
    sent_by: str
    created_at: datetime
    taken_at: datetime | None = None


class Attention(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that waits for a person: one entry for one cause."""

    id: str
    run: str | None = None
    session: str | None = None
    task_id: str | None = None
    question: str | None = None
    """The question that is its cause. Whoever answers one answers the other."""

    kind: AttentionKind
    title: str
    body: str = ""
    """What happened, and what was tried; for a permission, the command or the change."""

    options: tuple[str, ...] = ()
    created_at: datetime
    answer: str = ""
    """Empty if its cause was gone before anybody answered."""

    answered_by: str | None = None
    answered_at: datetime | None = None
