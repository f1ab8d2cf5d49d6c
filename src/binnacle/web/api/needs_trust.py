"""What came with a project and has no effect until a person has looked at it, with exactly what it would do."""

import asyncio
from contextlib import suppress

from msgspec import Struct

from binnacle.app import trust_review
from binnacle.app.trust_review import TrustStanding
from binnacle.config.trust import Kind, State, differences
from binnacle.errors import BinnacleError, InvalidInput, Refused
from binnacle.project.project import Project
from binnacle.web.endpoints import acts
from binnacle.web.page_project import PageProject


class WaitingTrust(Struct, frozen=True, kw_only=True):
    """Something that has no effect until a person trusts exactly this content."""

    key: str
    kind: Kind
    state: State
    place: str
    does: str
    """What it would do, as the end of a sentence that begins with `it would`."""

    sha256: str
    """Of the content: what exactly is trusted."""

    content: str
    changes: tuple[str, ...]
    """How it differs from what was trusted before, as the lines of a difference; empty if it is new."""

    trusted_by: str = ""
    """Who trusted what it was before."""


class BrokenFile(Struct, frozen=True, kw_only=True):
    """A file that cannot be read, so that nothing in it has an effect."""

    message: str
    hint: str


class TrustCause(Struct, frozen=True, kw_only=True):
    """Everything in a project that waits for trust."""

    items: tuple[WaitingTrust, ...]
    problems: tuple[BrokenFile, ...]


class SeenContent(Struct, frozen=True, kw_only=True):
    """An item, and the content that the person saw."""

    key: str
    sha256: str


class TrustItems(Struct, frozen=True, kw_only=True):
    """What a person trusts."""

    items: tuple[SeenContent, ...]


class TrustedItems(Struct, frozen=True, kw_only=True):
    """What is trusted now, by key."""

    keys: tuple[str, ...]


async def find_trust_cause(project: PageProject) -> TrustCause | None:
    """What waits for trust; None if nothing does, or if it cannot be read."""
    with suppress(BinnacleError):
        found = await asyncio.to_thread(trust_review.look, project.project)
        waiting = tuple(_describe(one) for one in found.standings if one.state != "trusted")
        problems = tuple(BrokenFile(message=one.message, hint=one.hint) for one in found.problems)
        return TrustCause(items=waiting, problems=problems) if waiting or problems else None
    return None


def _describe(one: TrustStanding) -> WaitingTrust:
    item, before = one.item, one.before
    return WaitingTrust(
        key=item.key,
        kind=item.kind,
        state=one.state,
        place=item.place,
        does=item.does,
        sha256=item.sha256,
        content=item.content,
        changes=tuple(differences(item, before)) if before else (),
        trusted_by=before.by if before else "",
    )


@acts("trust_items")
async def trust_items(project: PageProject, asked: TrustItems) -> TrustedItems:
    """Trusts what the person saw. If one of it is another now, nothing is trusted."""
    if not asked.items:
        raise InvalidInput("nothing is named", hint="choose what you trust")
    await asyncio.to_thread(_trust, project.project, asked)
    return TrustedItems(keys=tuple(one.key for one in asked.items))


def _trust(project: Project, asked: TrustItems) -> None:
    known = {one.item.key: one.item for one in trust_review.look(project).standings}
    for one in asked.items:
        item = known.get(one.key)
        if item is None or item.sha256 != one.sha256:
            raise Refused(f"{one.key} is not what you have seen: it was changed", hint="look at it again")
    trust_review.grant(project, [known[one.key] for one in asked.items], how="page")
