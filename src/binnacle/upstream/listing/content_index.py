"""What servers have besides tools: their resources, templates and prompts together, and whose each is."""

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
"""A variable that stands for one segment of a path."""


TRUST_RANKS = {"cli": 0, "user": 0, "project": 1, "discipline": 2}
"""How much a server is trusted by where it is configured: of two that have the same resource, the lower one counts."""

OWN_SCHEME = "binnacle"
"""The scheme of our own resources."""

WEB_SCHEMES = frozenset({"http", "https", "ws", "wss"})


class ContentItem(NamedTuple):
    """A resource, a template or a prompt."""

    server: str
    name: str
    """What its server knows it by: a URI, a template, a name."""

    entry: Raw
    """As it is listed here."""


class ContentIndex(NamedTuple):
    """The content of all servers, by what it is known by here."""

    resources: Mapping[str, ContentItem]
    templates: Mapping[str, ContentItem]
    prompts: Mapping[str, ContentItem]
    sharing: Mapping[str, Sequence[str]]
    """Every server that has a template, by template; only the first one's is listed."""

    notes: tuple[tuple[str, str], ...]
    """What people should know: a server, and what about it."""

    def owners(self, uri: str, told_by: str | None = None) -> tuple[str, ...]:
        """The servers that may have a resource, to be asked in this order: who lists it, or else has a template for it.

        Among several with such a template, the one that told of it (`told_by`) comes first; otherwise it comes last.
        """
        if found := self.resources.get(uri) or self.templates.get(uri):
            return (found.server,)
        fitting = [name for template, names in self.sharing.items() if fits_template(uri, template) for name in names]
        if told_by is None:
            return tuple(fitting[:1])
        return (told_by,) if told_by in fitting else (*fitting[:1], told_by)


def rank_of(config: ServerConfig) -> int:
    """How much a server is trusted; the lower, the more."""
    return TRUST_RANKS[config.source.kind]


def is_ours(uri: str) -> bool:
    """Whether an address is one of our own, for which no server answers."""
    return _scheme_of(uri) == OWN_SCHEME


def why_not_offered(address: str, config: ServerConfig) -> str:
    """Why a resource or a template is not a server's to offer; empty if it is.

    A template answers for every address that fits it. It has to say whose they are: by a scheme, by a host of the web,
    and, unless the person set the server up, not by the files of this machine.
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
    """What several servers have.

    Of two resources or templates that are called the same, that of the more trusted server counts; among equals, that
    of the first one.
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
    named = {called: ContentItem(*owner, _renamed(prompts[owner], called)) for called, owner in public.items()}
    return ContentIndex(resources, templates, named, sharing, tuple(notes))


def fits_template(uri: str, template: str) -> bool:
    """Whether a URI may have been made from a template. A plain `{name}` stands for one segment of a path.

    Looks for the text between the variables from left to right and never back: servers write templates.
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


def _renamed(entry: Raw, name: str) -> Raw:
    return Raw(msgspec.json.encode({**msgspec.json.decode(entry, type=dict[str, Raw]), "name": name}))
