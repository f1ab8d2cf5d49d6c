"""What servers have besides tools: their resources, templates and prompts together, and whose each is."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Raw

from binnacle.upstream.hygiene import screen_pieces
from binnacle.upstream.naming import public_names
from binnacle.upstream.server import Upstream

_VARIABLES = re.compile(r"((?:\{[^{}]*\})+)")
_PLAIN = re.compile(r"\{\w+\}")
"""A variable that stands for one segment of a path."""


class Piece(NamedTuple):
    """A resource, a template or a prompt."""

    server: str
    name: str
    """What its server knows it by: a URI, a template, a name."""

    entry: Raw
    """As it is listed here."""


class Contents(NamedTuple):
    """The content of all servers, by what it is known by here."""

    resources: Mapping[str, Piece]
    templates: Mapping[str, Piece]
    prompts: Mapping[str, Piece]
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
        fitting = [name for template, names in self.sharing.items() if fits(uri, template) for name in names]
        if told_by is None:
            return tuple(fitting[:1])
        return (told_by,) if told_by in fitting else (*fitting[:1], told_by)


def gather(servers: Iterable[Upstream]) -> Contents:
    """What several servers have. Of two resources or templates that are called the same, the first one counts."""
    resources: dict[str, Piece] = {}
    templates: dict[str, Piece] = {}
    prompts: dict[tuple[str, str], Raw] = {}
    sharing: defaultdict[str, list[str]] = defaultdict(list)
    notes: list[tuple[str, str]] = []
    for server in servers:
        name = server.config.name
        listed = screen_pieces(server.resources, "uri"), screen_pieces(server.templates, "uriTemplate")
        for known, pieces in zip((resources, templates), listed, strict=True):
            for called, entry in pieces.named:
                first = known.setdefault(called, Piece(name, called, entry))
                if first.server != name:
                    notes.append((name, f"{called}: not offered, because {first.server} has it"))
        for template, _ in listed[1].named:
            sharing[template].append(name)
        asked = screen_pieces(server.prompts, "name")
        prompts |= {(name, called): entry for called, entry in asked.named}
        notes += ((name, note) for pieces in (*listed, asked) for note in pieces.notes)
    public = public_names(prompts)
    named = {called: Piece(*owner, _renamed(prompts[owner], called)) for called, owner in public.items()}
    return Contents(resources, templates, named, sharing, tuple(notes))


def fits(uri: str, template: str) -> bool:
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
