"""The upstream servers: what is configured, in which state each is, and what a person may do about it."""

import asyncio
from hashlib import sha256

import msgspec
from msgspec import Struct

from binnacle.app import trust_review
from binnacle.app.upstream_history import accept_tools, find_changed_tools, read_log
from binnacle.app.upstream_probe import ToolSummary
from binnacle.config.trust import State, differences
from binnacle.errors import InvalidInput, Refused
from binnacle.project.project import Project
from binnacle.upstream.configuration.config_edit import switch_server
from binnacle.upstream.configuration.server_config import ConfigProblem
from binnacle.upstream.configuration.server_overview import ConfiguredServer
from binnacle.upstream.listing.pins import PinChange
from binnacle.web.endpoints import NoArguments, acts, reads
from binnacle.web.page_project import PageProject
from binnacle.web.upstream_states import UpstreamEntry, UpstreamsAround, describe_upstream, find_live, look_around
from binnacle.web.upstream_tests import upstream_tests_of
from binnacle.wire.hidden_text import make_visible

MAX_LOG_LINES = 200
MAX_LOG_LINE_CHARACTERS = 2000


class UpstreamName(Struct, frozen=True, kw_only=True):
    """Names a server."""

    name: str


class UpstreamsPage(Struct, frozen=True, kw_only=True):
    """All servers, and what is wrong in files without being about one of them."""

    servers: list[UpstreamEntry]
    problems: list[ConfigProblem]
    is_serving: bool
    """Whether this process serves sessions, so that states can be live."""


class UpstreamTrust(Struct, frozen=True, kw_only=True):
    """What exactly a person would trust, and how it differs from what was trusted before."""

    key: str
    state: State
    place: str
    does: str
    """The end of a sentence that begins with `it would`."""

    sha256: str
    content: str
    changes: list[str]
    trusted_by: str
    trusted_at: str


class ChangedUpstreamTool(Struct, frozen=True, kw_only=True):
    """A tool that is not as it was accepted."""

    kind: str
    tool: str
    was: str
    diff: str


class UpstreamPage(Struct, frozen=True, kw_only=True):
    """Everything about a server."""

    entry: UpstreamEntry
    trust: UpstreamTrust | None
    changes: list[ChangedUpstreamTool]
    seen: str
    """Identifies the changes that are shown; accepting them names it."""

    tools: list[ToolSummary]
    """Its tools, as the last test found them."""

    log: list[str]
    log_file: str
    """Empty if nothing that it writes is kept here."""

    login: list[str]
    """What a person is to do to sign in, while a login is under way."""


class AcceptTools(Struct, frozen=True, kw_only=True):
    """Accepts the changes of a server's tools that a person has seen."""

    name: str
    seen: str
    tool: str = ""
    """One of them; all if empty."""


class AcceptedUpstreamTools(Struct, frozen=True, kw_only=True):
    """The tools whose changes were accepted."""

    accepted: list[str]


class SwitchUpstream(Struct, frozen=True, kw_only=True):
    """Enables or disables a server in its file."""

    name: str
    enabled: bool


class SwitchedUpstream(Struct, frozen=True, kw_only=True):
    """A server whose entry was changed."""

    name: str
    enabled: bool
    file: str
    is_changed: bool


class UpstreamLoggedIn(Struct, frozen=True, kw_only=True):
    """A server that a person signed in to, and where the login is kept."""

    name: str
    kept: str


class UpstreamLoggedOut(Struct, frozen=True, kw_only=True):
    """A server that a person signed out of."""

    name: str
    was_there: bool
    still_good: str
    """Why its tokens could not be revoked."""


@reads("upstreams")
async def read_upstreams(project: PageProject, asked: NoArguments) -> UpstreamsPage:  # noqa: ARG001
    around = await look_around(project)
    entries = await asyncio.to_thread(
        lambda: [describe_upstream(project, around, server) for server in around.overview.servers.values()]
    )
    return UpstreamsPage(
        servers=entries,
        problems=list(around.overview.problems),
        is_serving=project.shared_upstreams is not None,
    )


@reads("upstream")
async def read_upstream(project: PageProject, asked: UpstreamName) -> UpstreamPage:
    around = await look_around(project)
    return await asyncio.to_thread(_read_one, project, around, around.find(asked.name))


@acts("test_upstream", within=100)
async def test_upstream(project: PageProject, asked: UpstreamName) -> UpstreamEntry:
    """Connects to a trusted server, to see how it stands. One that sessions use is asked over their connection."""
    around = await look_around(project)
    config = around.config(asked.name)
    if (live := find_live(project, asked.name)) is not None:
        live.retry()
    brought = {asked.name: around.brought[asked.name]} if config.source.kind == "discipline" else {}
    await upstream_tests_of(project).test(project, asked.name, brought)
    return await asyncio.to_thread(describe_upstream, project, around, around.find(asked.name))


@acts("accept_tools")
async def accept_changed_tools(project: PageProject, asked: AcceptTools) -> AcceptedUpstreamTools:
    return await asyncio.to_thread(_accept, project.project, asked)


@acts("switch_upstream")
async def switch_upstream(project: PageProject, asked: SwitchUpstream) -> SwitchedUpstream:
    server = (await look_around(project)).find(asked.name)
    if not server.entry.source.file:
        where = "a discipline" if server.entry.source.kind == "discipline" else "the command line"
        raise InvalidInput(f"{asked.name} comes from {where}", hint="change it there")
    written = await asyncio.to_thread(switch_server, server.entry.source.file, asked.name, enabled=asked.enabled)
    upstream_tests_of(project).forget(asked.name)
    return SwitchedUpstream(name=asked.name, enabled=asked.enabled, file=written.file, is_changed=written.is_changed)


@acts("log_in_upstream", within=620)
async def log_in_upstream(project: PageProject, asked: UpstreamName) -> UpstreamLoggedIn:
    """Lasts as long as the login: what a person is to do meanwhile is in `upstream`."""
    from binnacle.app.upstream_sign_in import wait_for_login

    config = (await look_around(project)).config(asked.name)
    with upstream_tests_of(project).showing_login(asked.name) as show:
        kept = await wait_for_login(config, project.project.repo, show=show)
    return UpstreamLoggedIn(name=asked.name, kept=kept)


@acts("log_out_upstream")
async def log_out_upstream(project: PageProject, asked: UpstreamName) -> UpstreamLoggedOut:
    from binnacle.app.upstream_sign_in import end_login

    done = await end_login((await look_around(project)).config(asked.name))
    upstream_tests_of(project).forget(asked.name)
    return UpstreamLoggedOut(name=asked.name, was_there=done.was_there, still_good=done.still_good)


def _read_one(project: PageProject, around: UpstreamsAround, server: ConfiguredServer) -> UpstreamPage:
    place, name = project.project, server.entry.name
    entry = describe_upstream(project, around, server)
    changes = find_changed_tools(place, name)
    tested = upstream_tests_of(project).find(name)
    log = None
    if server.config is None or server.config.transport == "stdio":
        log = read_log(place, server, lines=MAX_LOG_LINES)
    return UpstreamPage(
        entry=entry,
        trust=_find_trust(place, f"server:{name}"),
        changes=[
            ChangedUpstreamTool(kind=one.kind, tool=make_visible(one.tool), was=make_visible(one.was), diff=one.diff())
            for one in changes
        ],
        seen=_digest(changes),
        tools=tested.tools if tested else [],
        log=[make_visible(line[:MAX_LOG_LINE_CHARACTERS]) for line in log.lines] if log else [],
        log_file=log.file if log else "",
        login=upstream_tests_of(project).login_lines(name),
    )


def _find_trust(project: Project, key: str) -> UpstreamTrust | None:
    """What there is to trust of a server; None if it needs no trust."""
    for one in trust_review.look(project).standings:
        item, before = one.item, one.before
        if item.key == key:
            return UpstreamTrust(
                key=key,
                state=one.state,
                place=item.place,
                does=make_visible(item.does),
                sha256=item.sha256,
                content=make_visible(item.content),
                changes=[make_visible(line) for line in differences(item, before)] if before else [],
                trusted_by=before.by if before else "",
                trusted_at=before.at if before else "",
            )
    return None


def _accept(project: Project, asked: AcceptTools) -> AcceptedUpstreamTools:
    shown = find_changed_tools(project, asked.name)
    if not shown:
        raise InvalidInput(f"nothing of {asked.name} waits to be accepted", hint="look at it again")
    if _digest(shown) != asked.seen:
        raise Refused(f"the tools of {asked.name} have changed since you saw them", hint="look at them again")
    accepted = accept_tools(project, asked.name, asked.tool or None, shown=shown)
    return AcceptedUpstreamTools(accepted=accepted)


def _digest(changes: list[PinChange]) -> str:
    """Identifies changes: what a person has seen is what they accept."""
    said = msgspec.json.encode(
        [(one.kind, one.tool, one.was, one.before, one.after) for one in changes], order="sorted"
    )
    return sha256(said).hexdigest()[:32]
