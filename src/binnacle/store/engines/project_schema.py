"""Which schema of a PostgreSQL database a project has.

Every project has a schema of its own. The schema's comment, which everybody sees who
lists the schemas, says which project it is and which repositories it belongs to. A
repository is known by fingerprints that all its clones share; one of them suffices. So a
repository finds its schema from every machine and under every folder name, and another
one of the same name is refused instead of seeing tasks that are not its own.
"""

import re
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from binnacle.errors import ConfigError
from binnacle.work import steps

FIRST_SCHEMA = "binnacle"
"""The schema of a project in a database that was set up before projects had names."""

MAX_SCHEMA_CHARACTERS = 50
"""Shorter than what PostgreSQL takes, so that the name of the channel made from it fits too."""


class SchemaTenant(Struct, frozen=True, kw_only=True):
    """A project that looks for its schema."""

    name: str
    is_named: bool
    """Whether a person gave the name. Then it is their word, whichever repository has it already."""

    fingerprints: frozenset[str]
    """What the repository is known by."""


class SchemaOwner(Struct, frozen=True, kw_only=True):
    """Whose schema it is, as its comment says."""

    binnacle: str
    """Name of the project."""

    repositories: tuple[str, ...] = ()
    """Fingerprints of the repositories that share it."""


class SchemaChoice(Struct, frozen=True):
    """The schema to use, and what its comment has to say from now on."""

    schema: str
    owner: SchemaOwner
    is_recorded: bool
    """Whether the comment says so already."""


def choose_schema(schemas: Mapping[str, SchemaOwner | None], tenant: SchemaTenant) -> SchemaChoice:
    """The schema of `tenant` among those there are; a new one if none is.

    Raises:
        ConfigError: the name is another repository's, or it is not clear which one is meant.
    """
    owned = {schema: owner for schema, owner in schemas.items() if owner is not None}
    named = [schema for schema, owner in owned.items() if owner.binnacle == tenant.name]
    mine = [schema for schema, owner in owned.items() if tenant.fingerprints & {*owner.repositories}]
    found = named if tenant.is_named else [schema for schema in mine if schema in named] or mine
    if len(found) == 1:
        return _choice(found[0], owned[found[0]], tenant)
    if len(found) > 1:
        names = ", ".join(sorted(owned[schema].binnacle for schema in found))
        raise ConfigError(
            f"several projects of the database belong to this repository: {names}",
            hint=steps.name_project("choose one"),
        )
    schema = schema_name(tenant.name)
    if named or schema in owned:
        other = owned[named[0] if named else schema].binnacle
        raise ConfigError(
            f"the database has a project {other!r} of another repository",
            hint=(
                steps.name_project("give this one a name of its own"),
                steps.name_project("or share that one", other),
            ),
        )
    is_first = schema not in schemas and FIRST_SCHEMA in schemas and FIRST_SCHEMA not in owned
    return _choice(FIRST_SCHEMA if is_first else schema, None, tenant)


def _choice(schema: str, owner: SchemaOwner | None, tenant: SchemaTenant) -> SchemaChoice:
    known = owner.repositories if owner else ()
    wanted = SchemaOwner(
        binnacle=owner.binnacle if owner else tenant.name, repositories=tuple(sorted({*known, *tenant.fingerprints}))
    )
    return SchemaChoice(schema, wanted, is_recorded=wanted == owner)


def schema_name(project: str) -> str:
    """The name of a new schema for `project`."""
    plain = re.sub(r"[^a-z0-9_]+", "_", project.lower()).strip("_")
    return f"bn_{plain or 'project'}"[:MAX_SCHEMA_CHARACTERS]


def parse_owner(comment: str | None) -> SchemaOwner | None:
    """What a schema's comment says; `None` if it says nothing of ours."""
    try:
        return msgspec.json.decode(comment or "", type=SchemaOwner)
    except msgspec.DecodeError:
        return None
