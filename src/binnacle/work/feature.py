"""Features and disciplines: the parts of a product, and the personas that work on it."""

from collections.abc import Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from binnacle.errors import Duplicate, Flag, InvalidInput, did_you_mean
from binnacle.work import steps
from binnacle.work.acceptance import clean_check_names
from binnacle.work.text import clean_line, clean_lines, clean_name, clean_optional_line, clean_paths, clean_text

MAX_PROSE_CHARACTERS = 3000
"""These texts go into prompts uncut; longer ones would crowd out the task."""


class Feature(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of the product that tasks belong to."""

    name: str
    title: str
    acronym: str
    """Four letters or digits, unique, for boards and branch names."""

    description: str = ""
    architecture: str = ""
    boundaries: str = ""
    """What does not belong to it."""

    knowledge_paths: tuple[str, ...] = ()
    context_files: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    """Names of features it builds on."""

    checks: tuple[str, ...] = ()
    """Names of checks that its tasks need, in addition to those of the project."""

    created_at: datetime
    updated_at: datetime


class Discipline(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A persona that works on tasks: how it thinks and which tools it may not use."""

    name: str
    title: str
    acronym: str
    icon: str = ""
    colour: str = ""
    system_prompt: str = ""
    skills: tuple[str, ...] = ()
    conventions: str = ""
    upstreams: dict[str, Any] = {}
    """Its own MCP servers, in the format of `mcp.json`."""

    denied_tools: tuple[str, ...] = ()
    """Names of tools, or patterns such as `debug_*`, that it may not use."""

    created_at: datetime
    updated_at: datetime


FEATURE_FIELDS = tuple(n for n in Feature.__struct_fields__ if n not in {"name", "created_at", "updated_at"})
DISCIPLINE_FIELDS = tuple(n for n in Discipline.__struct_fields__ if n not in {"name", "created_at", "updated_at"})


def validate_feature(feature: Feature) -> Feature:
    """The feature cleaned and within its limits."""
    return msgspec.structs.replace(
        feature,
        title=clean_line(feature.title, what="title", limit=120),
        acronym=_clean_acronym(feature.acronym),
        description=clean_text(feature.description, what="description", limit=MAX_PROSE_CHARACTERS),
        architecture=clean_text(feature.architecture, what="architecture", limit=MAX_PROSE_CHARACTERS),
        boundaries=clean_text(feature.boundaries, what="boundaries", limit=MAX_PROSE_CHARACTERS),
        knowledge_paths=clean_paths(feature.knowledge_paths, what="knowledge_paths", limit=10),
        context_files=clean_paths(feature.context_files, what="context_files", limit=30),
        dependencies=tuple(clean_name(name, what="feature") for name in feature.dependencies),
        checks=clean_check_names(feature.checks),
    )


def validate_discipline(discipline: Discipline) -> Discipline:
    """The discipline cleaned and within its limits."""
    return msgspec.structs.replace(
        discipline,
        title=clean_line(discipline.title, what="title", limit=120),
        acronym=_clean_acronym(discipline.acronym),
        icon=clean_optional_line(discipline.icon, what="icon", limit=40),
        colour=clean_optional_line(discipline.colour, what="colour", limit=40),
        system_prompt=clean_text(discipline.system_prompt, what="system_prompt", limit=20_000),
        skills=clean_lines(discipline.skills, what="skills", limit=30),
        conventions=clean_text(discipline.conventions, what="conventions", limit=MAX_PROSE_CHARACTERS),
        upstreams=_clean_upstreams(discipline.upstreams),
        denied_tools=clean_lines(discipline.denied_tools, what="denied_tools"),
    )


def change_feature(feature: Feature, changes: Mapping[str, Any]) -> Feature:
    """`feature` with `changes` applied and validated.

    Raises:
        InvalidInput: an unknown field, or a value that does not fit.
    """
    _check_fields(changes, FEATURE_FIELDS, what="feature")
    with _explaining_type_errors(FEATURE_FIELDS):
        return validate_feature(msgspec.structs.replace(feature, **changes))


def change_discipline(discipline: Discipline, changes: Mapping[str, Any]) -> Discipline:
    """`discipline` with `changes` applied and validated.

    Raises:
        InvalidInput: an unknown field, or a value that does not fit.
    """
    _check_fields(changes, DISCIPLINE_FIELDS, what="discipline")
    with _explaining_type_errors(DISCIPLINE_FIELDS):
        return validate_discipline(msgspec.structs.replace(discipline, **changes))


def _clean_upstreams(given: Any) -> dict[str, Any]:
    if not isinstance(given, dict) or not all(isinstance(server, dict) for server in given.values()):
        raise InvalidInput(
            "upstreams are servers by name, each an object", hint='{"docs": {"command": "docs-server", "args": []}}'
        )
    return {clean_name(name, what="upstream"): server for name, server in given.items()}


@contextmanager
def _explaining_type_errors(fields: Sequence[str]) -> Generator[None]:
    try:
        yield
    except (TypeError, AttributeError) as error:
        raise InvalidInput(f"a value has the wrong type: {error}", hint=f"fields: {', '.join(fields)}") from error


def _check_fields(changes: Mapping[str, Any], known: Sequence[str], *, what: str) -> None:
    for name in changes:
        if name not in known:
            raise InvalidInput(f"a {what} has no field {name!r}", hint=did_you_mean(name, known))


def derive_acronym(name: str, taken: Collection[str]) -> str:
    """An unused acronym of four letters for `name`: initials, or letters of the name, then numbered."""
    words = [word for word in name.replace("_", "-").upper().split("-") if word]
    letters = "".join(c for c in "".join(words) if c.isascii() and c.isalnum())
    initials = "".join(word[0] for word in words if word[0].isascii())
    stem = (initials if len(initials) >= 3 else letters) + "XXXX"
    candidates = [stem[:4], *(f"{stem[:3]}{i}" for i in range(2, 10)), *(f"{stem[:2]}{i}" for i in range(10, 100))]
    candidates += [f"{stem[:1]}{i}" for i in range(100, 1000)]
    return next(candidate for candidate in candidates if candidate not in taken)


def check_is_new(name: str, existing: Sequence[str], *, what: str, force: bool = False) -> None:
    """Refuses a name that exists, or that is so similar to one that it means the same."""
    if name in existing:
        raise Duplicate(f"{what} {name!r} exists already", hint=steps.update_named(what, name))
    if force:
        return
    if twin := next((other for other in existing if _is_near(name, other)), None):
        raise Duplicate(
            f"{what} {name!r} is nearly the same as {twin!r}",
            hint=(f"use {twin!r}", Flag("force", "adds it if they really differ")),
            details={"existing": twin},
        )


def _is_near(a: str, b: str) -> bool:
    """Whether two names are similar, as `auth` and `authentication`, `log-in` and `login`, `payment` and `payments`."""
    short, long = sorted((a.replace("-", "").replace("_", ""), b.replace("-", "").replace("_", "")), key=len)
    if len(short) >= 4 and long.startswith(short):
        return True
    from difflib import SequenceMatcher

    # Examples near the limit: `api-v1` and `api-v2` (0.8) differ, `notification` and `notificaton` (0.96) do not.
    return SequenceMatcher(None, short, long).ratio() > 0.85 and not (short[-1:].isdigit() or long[-1:].isdigit())


def _clean_acronym(text: str) -> str:
    acronym = text.strip().upper()
    if len(acronym) != 4 or not acronym.isascii() or not acronym.isalnum():
        raise InvalidInput(f"an acronym is four letters or digits, not {text[:20]!r}", hint="for example AUTH")
    return acronym
