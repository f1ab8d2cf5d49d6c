"""Chooses the schema of a project in a PostgreSQL database.

Every project has its own schema. The schema's comment, which everyone who lists the
schemas can see, names the project and its repositories. A repository is identified by
fingerprints that all its clones share; one of them suffices. So a repository finds its
schema from every machine and under every folder name, and another repository with the
same name is refused instead of seeing foreign tasks.
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
"""Shorter than PostgreSQL's limit, so that the name of the notification channel fits too."""


class SchemaTenant(Struct, frozen=True, kw_only=True):
    """A project that looks for its schema."""

    name: str
    is_named: bool
    """Whether a person gave the name. Then it is used even if another repository has it."""

    fingerprints: frozenset[str]
    """What identifies the repository."""


class SchemaOwner(Struct, frozen=True, kw_only=True):
    """The owner of a schema, according to its comment."""

    binnacle: str
    """Name of the project."""

    repositories: tuple[str, ...] = ()
    """Fingerprints of the repositories that share it."""


class SchemaChoice(Struct, frozen=True):
    """The schema to use, and the owner to write into its comment."""

    schema: str
    owner: SchemaOwner
    is_recorded: bool
    """Whether the comment already names this owner."""


def choose_schema(schemas: Mapping[str, SchemaOwner | None], tenant: SchemaTenant) -> SchemaChoice:
    """The schema of `tenant` among `schemas`, or a new one.

    Raises:
        ConfigError: another repository has the name, or several schemas belong to the tenant.
    """
    owned = {schema: owner for schema, owner in schemas.items() if owner is not None}
    named = [schema for schema, owner in owned.items() if owner.binnacle == tenant.name]
    mine = [schema for schema, owner in owned.items() if tenant.fingerprints & {*owner.repositories}]
    found = named if tenant.is_named else [schema for schema in mine if schema in named] or mine
    if len(found) == 1:
        return _make_choice(found[0], owned[found[0]], tenant)
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
                steps.name_project("give this one another name"),
                steps.name_project("or share that one", other),
            ),
        )
    is_first = schema not in schemas and FIRST_SCHEMA in schemas and FIRST_SCHEMA not in owned
    return _make_choice(FIRST_SCHEMA if is_first else schema, None, tenant)


def _make_choice(schema: str, owner: SchemaOwner | None, tenant: SchemaTenant) -> SchemaChoice:
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
    """The owner in a schema's comment; None if the comment is not ours."""
    try:
        return msgspec.json.decode(comment or "", type=SchemaOwner)
    except msgspec.DecodeError:
        return None
