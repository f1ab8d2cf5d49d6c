"""Ready-made disciplines: sets of personas in files, and how they come into a store."""

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from binnacle.config.yaml_file import YamlLines, load
from binnacle.errors import BinnacleError, ConfigError, Duplicate, NotFound, did_you_mean
from binnacle.store import features
from binnacle.store.transaction import Reader, Writer
from binnacle.tools.denials import check_denied
from binnacle.work.feature import DISCIPLINE_FIELDS, Discipline, change_discipline
from binnacle.work.text import clean_name

BOX = os.path.join(os.path.dirname(__file__), "disciplines")
NEVER = datetime.min.replace(tzinfo=UTC)


class WrittenDiscipline(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A discipline as it is written. What is left out is made up when it is added, and stays when it is updated."""

    name: str
    title: str | None = None
    acronym: str | None = None
    icon: str | None = None
    colour: str | None = None
    system_prompt: str | None = None
    skills: tuple[str, ...] | None = None
    conventions: str | None = None
    upstreams: dict[str, Any] | None = None
    denied_tools: tuple[str, ...] | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """What is said about it."""
        return {key: value for key in DISCIPLINE_FIELDS if (value := getattr(self, key)) is not None}


class DisciplineSet(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Disciplines that belong together."""

    description: str = ""
    disciplines: tuple[WrittenDiscipline, ...]


class ImportedDisciplines(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an import came to, by name."""

    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    """Those that were there and were left as they are."""

    near: dict[str, str] = {}
    """Those left out because one with nearly the same name is there, and that one."""


def sets() -> dict[str, DisciplineSet]:
    """The sets in the box, by name."""
    return {name: load_set(name) for name in _boxed()}


def load_set(source: str) -> DisciplineSet:
    """A set from the box by its name, or from a file: what ends in `.yaml` or has a `/` in it.

    Raises:
        NotFound: no such set; the nearest is named.
        ConfigError: something in the file is wrong: where, what, and the nearest valid word.
    """
    if source.endswith((".yaml", ".yml")) or os.sep in source:
        path = source
    elif source in (known := _boxed()):
        path = os.path.join(BOX, f"{source}.yaml")
    else:
        hint = "; ".join(filter(None, (did_you_mean(source, known), "a file ends in .yaml")))
        raise NotFound(f"no set of disciplines {source!r}", hint=hint)
    found, lines = load(path, DisciplineSet)
    _check(found.disciplines, lines)
    return found


def import_set(tx: Writer, given: DisciplineSet, *, update: bool = False) -> ImportedDisciplines:
    """Adds the disciplines that are not there. Those that are stay as they are, unless they are to be updated."""
    there = {one.name: one for one in features.list_disciplines(tx)}
    added, updated, kept, near = [], [], [], {}
    for persona in given.disciplines:
        name = clean_name(persona.name, what="discipline")
        if name not in there:
            try:
                features.add_discipline(tx, name, _fitting(tx, name, persona))
                added.append(name)
            except Duplicate as error:
                near[name] = str(error.details["existing"])
        elif update and features.update_discipline(tx, name, _fitting(tx, name, persona)) != there[name]:
            updated.append(name)
        else:
            kept.append(name)
    return ImportedDisciplines(added=tuple(added), updated=tuple(updated), kept=tuple(kept), near=near)


def _boxed() -> list[str]:
    return sorted(file.removesuffix(".yaml") for file in os.listdir(BOX) if file.endswith(".yaml"))


def _fitting(tx: Reader, name: str, persona: WrittenDiscipline) -> dict[str, Any]:
    """What is said about it; without the acronym where another discipline has that."""
    fields = persona.fields
    taken = {one.acronym for one in features.list_disciplines(tx) if one.name != name}
    if fields.get("acronym", "").upper() in taken:
        del fields["acronym"]
    return fields


def _check(personas: Sequence[WrittenDiscipline], lines: YamlLines) -> None:
    """Checks by the rules of the store, so that a mistake is found with its line before anything is added."""
    seen: dict[tuple[str, str], str] = {}
    for index, persona in enumerate(personas):
        place = lines.at("disciplines", index, "name")
        with _placed(place, "name"):
            name = clean_name(persona.name, what="discipline")
        blank = Discipline(name=name, title=name, acronym="XXXX", created_at=NEVER, updated_at=NEVER)
        for key, value in persona.fields.items():
            with _placed(lines.at("disciplines", index, key), key):
                change_discipline(blank, {key: value})
                check_denied(value if key == "denied_tools" else (), _work_tool_names)
        for what, word in (("name", name), ("acronym", (persona.acronym or "").upper())):
            if word and (first := seen.setdefault((what, word), place)) != place:
                raise ConfigError(f"{place}: the {what} {word!r} is taken by {first}", hint="give each its own")


@contextmanager
def _placed(place: str, key: str) -> Generator[None]:
    """Says in which line of a file a value is that was refused."""
    try:
        yield
    except BinnacleError as error:
        raise ConfigError(f"{place}: {key}: {error.message}", hint=error.next_steps) from error


def _work_tool_names() -> list[str]:
    from binnacle.tools.work import all_work_tools  # declares every tool, which takes a while

    return all_work_tools.names()
