"""The resources, templates and prompts of all servers, and which server has each."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Raw

from binnacle.upstream.configuration.server_config import ServerConfig
from binnacle.upstream.listing.screening import screen_items
from binnacle.upstream.supervisor import SupervisedServer
from binnacle.upstream.toolsets.tool_names import assign_names

_VARIABLES = re.compile(r"((?:\{[^{}]*\})+)")
_PLAIN = re.compile(r"\{\w+\}")
"""A variable that matches one segment of a path."""


TRUST_RANKS = {"cli": 0, "user": 0, "project": 1, "discipline": 2}
"""How much a server is trusted, by its source: of two with the same resource, the lower rank counts."""

OWN_SCHEME = "binnacle"
"""The scheme of our own resources."""

WEB_SCHEMES = frozenset({"http", "https", "ws", "wss"})


class ContentItem(NamedTuple):
    """A resource, a template or a prompt."""

    server: str
    name: str
    """Its server's name for it: a URI, a template, a name."""

    entry: Raw
    """As it is listed here."""


class ContentIndex(NamedTuple):
    """The content of all servers, by our names for it."""

    resources: Mapping[str, ContentItem]
    templates: Mapping[str, ContentItem]
    prompts: Mapping[str, ContentItem]
    sharing: Mapping[str, Sequence[str]]
    """Every server that has a template, by template; only the first one's is listed."""

    notes: tuple[tuple[str, str], ...]
    """Notes for people: a server, and the note."""

    def owners(self, uri: str, linked_by: str | None = None) -> tuple[str, ...]:
        """The servers that may have a resource, in the order in which to ask: who lists it, else who has a template.

        The server that linked to it (`linked_by`) comes first if it has a template, else last.
        """
        if found := self.resources.get(uri) or self.templates.get(uri):
            return (found.server,)
        fitting = [name for template, names in self.sharing.items() if fits_template(uri, template) for name in names]
        if linked_by is None:
            return tuple(fitting[:1])
        return (linked_by,) if linked_by in fitting else (*fitting[:1], linked_by)


def rank_of(config: ServerConfig) -> int:
    """How much a server is trusted; the lower, the more."""
    return TRUST_RANKS[config.source.kind]


def is_ours(uri: str) -> bool:
    """Whether an address is ours, so that no server may answer for it."""
    return _scheme_of(uri) == OWN_SCHEME


def why_not_offered(address: str, config: ServerConfig) -> str:
    """Why a server may not offer a resource or a template; empty if it may.

    A template answers for every matching address. So it must name a scheme, for the web also a host, and must not name
    the files of this machine unless the person set the server up.
    """
    literal = address.partition("{")[0]
    scheme, host = _scheme_of(literal), literal.partition("://")[2]
    if scheme == OWN_SCHEME:
        return f"addresses that begin with {OWN_SCHEME}: are ours"
    if "{" not in address:
        return ""
    if not scheme:
        return "it would answer for every address"
    if scheme in WEB_SCHEMES and "/" not in host:
        return "it would answer for every place of the web"
    if scheme == "file" and rank_of(config) > TRUST_RANKS["user"]:
        return "it would answer for the files of this machine"
    return ""


def _scheme_of(uri: str) -> str:
    scheme, has_scheme, _ = uri.partition(":")
    return scheme.strip().lower() if has_scheme else ""


def gather_content(servers: Iterable[SupervisedServer]) -> ContentIndex:
    """The content of several servers.

    Of two resources or templates with the same name, that of the more trusted server counts; among equals, the first.
    """
    resources: dict[str, ContentItem] = {}
    templates: dict[str, ContentItem] = {}
    prompts: dict[tuple[str, str], Raw] = {}
    sharing: defaultdict[str, list[str]] = defaultdict(list)
    notes: list[tuple[str, str]] = []
    for server in sorted(servers, key=lambda one: rank_of(one.config)):
        name = server.config.name
        listed = screen_items(server.lists.resources, "uri"), screen_items(server.lists.templates, "uriTemplate")
        for known, pieces in zip((resources, templates), listed, strict=True):
            for called, entry in pieces.named:
                if why := why_not_offered(called, server.config):
                    notes.append((name, f"{called}: not offered, {why}"))
                    continue
                first = known.setdefault(called, ContentItem(name, called, entry))
                if first.server != name:
                    notes.append((name, f"{called}: not offered, because {first.server} has it"))
        for template, _ in listed[1].named:
            if not why_not_offered(template, server.config):
                sharing[template].append(name)
        asked = screen_items(server.lists.prompts, "name")
        prompts |= {(name, called): entry for called, entry in asked.named}
        notes += ((name, note) for pieces in (*listed, asked) for note in pieces.notes)
    public = assign_names(prompts)
    named = {called: ContentItem(*owner, _rename(prompts[owner], called)) for called, owner in public.items()}
    return ContentIndex(resources, templates, named, sharing, tuple(notes))


def fits_template(uri: str, template: str) -> bool:
    """Whether a URI may have been made from a template. A plain `{name}` matches one segment of a path.

    Searches from left to right without backtracking: servers write templates.
    """
    first, *rest = _VARIABLES.split(template)
    if not uri.startswith(first):
        return False
    at = len(first)
    for place in range(0, len(rest), 2):
        variables, text = rest[place : place + 2]
        is_last = place + 2 == len(rest)
        end = len(uri) - len(text) if is_last and uri.endswith(text) else -1 if is_last else uri.find(text, at)
        value = uri[at:end]
        if end <= at or ("/" in value and _PLAIN.fullmatch(variables)):
            return False
        at = end + len(text)
    return at == len(uri)


def _rename(entry: Raw, name: str) -> Raw:
    return Raw(msgspec.json.encode({**msgspec.json.decode(entry, type=dict[str, Raw]), "name": name}))
