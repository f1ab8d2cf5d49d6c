"""Ready-made disciplines: sets of personas in files, and their import into a store."""

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
from binnacle.tools.work import all_work_tools
from binnacle.work.feature import DISCIPLINE_FIELDS, Discipline, change_discipline
from binnacle.work.text import clean_name

BUILT_IN_DIR = os.path.join(os.path.dirname(__file__), "disciplines")
NEVER = datetime.min.replace(tzinfo=UTC)


class WrittenDiscipline(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A discipline in a file. A field that is left out gets a default when added, and stays when updated."""

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
        """The fields that the file sets."""
        return {key: value for key in DISCIPLINE_FIELDS if (value := getattr(self, key)) is not None}


class DisciplineSet(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Disciplines that belong together."""

    description: str = ""
    disciplines: tuple[WrittenDiscipline, ...]


class ImportedDisciplines(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of an import, by name."""

    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    """Existing disciplines that were left as they are."""

    near: dict[str, str] = {}
    """Disciplines that were left out, with the existing one that has a similar name."""


def sets() -> dict[str, DisciplineSet]:
    """The built-in sets, by name."""
    return {name: load_set(name) for name in _list_built_in()}


def load_set(source: str) -> DisciplineSet:
    """A built-in set by its name, or a set from a file, whose path ends in `.yaml` or contains a `/`.

    Raises:
        NotFound: there is no such set; the error names the nearest.
        ConfigError: the file is wrong; the error names the line, the problem and the nearest valid word.
    """
    if source.endswith((".yaml", ".yml")) or os.sep in source:
        path = source
    elif source in (known := _list_built_in()):
        path = os.path.join(BUILT_IN_DIR, f"{source}.yaml")
    else:
        hint = "; ".join(filter(None, (did_you_mean(source, known), "a file ends in .yaml")))
        raise NotFound(f"no set of disciplines {source!r}", hint=hint)
    found, lines = load(path, DisciplineSet)
    _check(found.disciplines, lines)
    return found


def import_set(tx: Writer, given: DisciplineSet, *, update: bool = False) -> ImportedDisciplines:
    """Adds the disciplines that do not exist. Existing ones change only with `update`."""
    there = {one.name: one for one in features.list_disciplines(tx)}
    added, updated, kept, near = [], [], [], {}
    for persona in given.disciplines:
        name = clean_name(persona.name, what="discipline")
        if name not in there:
            try:
                features.add_discipline(tx, name, _fields_for(tx, name, persona))
                added.append(name)
            except Duplicate as error:
                near[name] = str(error.details["existing"])
        elif update and features.update_discipline(tx, name, _fields_for(tx, name, persona)) != there[name]:
            updated.append(name)
        else:
            kept.append(name)
    return ImportedDisciplines(added=tuple(added), updated=tuple(updated), kept=tuple(kept), near=near)


def _list_built_in() -> list[str]:
    return sorted(file.removesuffix(".yaml") for file in os.listdir(BUILT_IN_DIR) if file.endswith(".yaml"))


def _fields_for(tx: Reader, name: str, persona: WrittenDiscipline) -> dict[str, Any]:
    """The fields of a persona, without the acronym if another discipline has it."""
    fields = persona.fields
    taken = {one.acronym for one in features.list_disciplines(tx) if one.name != name}
    if fields.get("acronym", "").upper() in taken:
        del fields["acronym"]
    return fields


def _check(personas: Sequence[WrittenDiscipline], lines: YamlLines) -> None:
    """Checks by the rules of the store, so that an error names its line before anything is added."""
    seen: dict[tuple[str, str], str] = {}
    for index, persona in enumerate(personas):
        place = lines.at("disciplines", index, "name")
        with _naming_line(place, "name"):
            name = clean_name(persona.name, what="discipline")
        blank = Discipline(name=name, title=name, acronym="XXXX", created_at=NEVER, updated_at=NEVER)
        for key, value in persona.fields.items():
            with _naming_line(lines.at("disciplines", index, key), key):
                change_discipline(blank, {key: value})
                check_denied(value if key == "denied_tools" else (), _work_tool_names)
        for what, word in (("name", name), ("acronym", (persona.acronym or "").upper())):
            if word and (first := seen.setdefault((what, word), place)) != place:
                raise ConfigError(f"{place}: the {what} {word!r} is already used in {first}", hint="use each only once")


@contextmanager
def _naming_line(place: str, key: str) -> Generator[None]:
    """Adds the line in the file to the error of a refused value."""
    try:
        yield
    except BinnacleError as error:
        raise ConfigError(f"{place}: {key}: {error.message}", hint=error.next_steps) from error


def _work_tool_names() -> list[str]:

    return all_work_tools.names()
