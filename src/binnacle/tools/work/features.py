"""Tools for features and disciplines."""

from typing import Annotated, Any, TypedDict, Unpack

from msgspec import Meta

from binnacle.store import features, learnings
from binnacle.store.feature_merge import merge_features
from binnacle.store.transaction import Reader, Writer
from binnacle.tools.denials import check_denied
from binnacle.tools.outcome import ToolReply
from binnacle.tools.policy import check_discipline_change
from binnacle.tools.work.task_text import Lines
from binnacle.tools.work.typed_tool import declared_names, tool
from binnacle.work.feature import Discipline, Feature

FEATURES, DISCIPLINES = "features", "disciplines"
NEAR = ("E_DUPLICATE", "one with this or a similar name exists; the error names it")
MISSING = ("E_NOT_FOUND", "the error names the nearest one")
USED = ("E_REFERENCED", "something still refers to it")
Name = Annotated[str, Meta(description="its name: letters, digits, '-' and '_'", examples=["auth"])]
Acronym = Annotated[str, Meta(description="four letters or digits; made from the name when left out")]
Force = Annotated[bool, Meta(description="even if a similar name exists")]
WORDS = {"display_name": "title", "feature_name": "name"}
DISCIPLINE_WORDS = {"display_name": "title", "color": "colour", "mcp_servers": "upstreams"}


class FeatureFields(TypedDict, total=False):
    """The fields of a feature."""

    title: str
    acronym: Acronym
    description: str
    architecture: str
    boundaries: Annotated[str, Meta(description="what does not belong to it")]
    knowledge_paths: Lines
    context_files: Lines
    dependencies: Annotated[Lines, Meta(description="features it builds on")]
    checks: Annotated[Lines, Meta(description="names of checks that its tasks need")]


class DisciplineFields(TypedDict, total=False):
    """The fields of a discipline."""

    title: str
    acronym: Acronym
    icon: str
    colour: str
    system_prompt: Annotated[str, Meta(description="how it thinks")]
    skills: Lines
    conventions: str
    upstreams: Annotated[dict[str, Any], Meta(description="its own MCP servers, as in mcp.json")]
    denied_tools: Annotated[Lines, Meta(description="tools or patterns it may not use")]


def _format_feature(one: Feature) -> str:
    parts = [f"{one.name} [{one.acronym}] {one.title}", one.description]
    parts += [f"{name}: {value}" for name in ("architecture", "boundaries") if (value := getattr(one, name))]
    for name in ("dependencies", "context_files", "knowledge_paths", "checks"):
        if value := getattr(one, name):
            parts.append(f"{name}: {', '.join(value)}")
    return "\n".join(part for part in parts if part)


def _format_discipline(one: Discipline) -> str:
    parts = [f"{one.name} [{one.acronym}] {one.title}", one.conventions, one.system_prompt]
    parts += [f"skills: {', '.join(one.skills)}"] if one.skills else []
    parts += [f"upstreams: {', '.join(one.upstreams)}"] if one.upstreams else []
    parts += [f"may not use: {', '.join(one.denied_tools)}"] if one.denied_tools else []
    return "\n".join(part for part in parts if part)


@tool(title="Add a feature", category=FEATURES, aliases=["create_feature"], synonyms=WORDS, errors=[NEAR])
def feature_add(tx: Writer, name: Name, *, force: Force = False, **fields: Unpack[FeatureFields]) -> ToolReply:
    """Adds a feature: a part of the product that tasks belong to. Look at feature_list first."""
    made = features.add(tx, name, fields, force=force)
    return ToolReply({"feature": made}, f"Added feature {_format_feature(made)}")


@tool(
    title="Change a feature",
    category=FEATURES,
    aliases=["update_feature"],
    idempotent=True,
    synonyms=WORDS,
    errors=[MISSING],
)
def feature_update(tx: Writer, name: Name, **changes: Unpack[FeatureFields]) -> ToolReply:
    """Changes a feature. Fields that are not given stay; a list replaces the old one."""
    made = features.update(tx, name, changes)
    return ToolReply({"feature": made}, f"Changed feature {_format_feature(made)}")


@tool(title="Read a feature", category=FEATURES, aliases=["get_feature"], synonyms=WORDS, errors=[MISSING])
def feature_get(tx: Reader, name: Name) -> ToolReply:
    """A feature with its boundaries, files and learnings."""
    found = features.get(tx, name)
    known = learnings.list_learnings(tx, feature=found.name)
    text = _format_feature(found) + "".join(f"\nlearning: {one.text}" for one in known)
    return ToolReply({"feature": found, "learnings": known}, text)


@tool(title="List features", category=FEATURES, aliases=["list_features"])
def feature_list(tx: Reader) -> ToolReply:
    """All features."""
    found = features.list_features(tx)
    text = "\n".join(f"{one.name} [{one.acronym}] {one.description[:120]}".rstrip() for one in found)
    return ToolReply({"features": found}, text or "No features.")


@tool(
    title="Delete a feature",
    category=FEATURES,
    aliases=["delete_feature"],
    destructive=True,
    synonyms=WORDS,
    errors=[MISSING, USED],
)
def feature_delete(tx: Writer, name: Name) -> ToolReply:
    """Deletes a feature that nothing refers to."""
    gone = features.delete(tx, name)
    return ToolReply({"deleted": gone.name}, f"Deleted feature {gone.name}")


@tool(
    title="Merge two features",
    category=FEATURES,
    aliases=["merge_features"],
    destructive=True,
    synonyms={"source": "name", "target": "into"},
    errors=[MISSING],
)
def feature_merge(
    tx: Writer, name: Name, into: Annotated[str, Meta(description="the feature that stays")]
) -> ToolReply:
    """Moves everything in a feature to another one and deletes it."""
    kept = merge_features(tx, name, into)
    return ToolReply({"feature": kept}, f"Merged into {_format_feature(kept)}")


@tool(
    title="Add a file to a feature",
    category=FEATURES,
    aliases=["add_feature_context_file"],
    idempotent=True,
    synonyms=WORDS | {"file_path": "files", "file": "files"},
    errors=[MISSING],
)
def feature_context(
    tx: Writer, name: Name, files: Annotated[Lines | str, Meta(description="files worth reading for it")]
) -> ToolReply:
    """Adds files that are worth reading for a feature."""
    new = (files,) if isinstance(files, str) else files
    paths = tuple(dict.fromkeys((*features.get(tx, name).context_files, *new)))
    made = features.update(tx, name, {"context_files": paths})
    return ToolReply(
        {"feature": made.name, "context_files": made.context_files}, f"{made.name}: {', '.join(made.context_files)}"
    )


@tool(
    title="Add a discipline",
    category=DISCIPLINES,
    aliases=["create_discipline"],
    synonyms=DISCIPLINE_WORDS,
    errors=[NEAR],
)
def discipline_add(tx: Writer, name: Name, *, force: Force = False, **fields: Unpack[DisciplineFields]) -> ToolReply:
    """Adds a discipline: a persona that works on tasks."""
    check_denied(fields.get("denied_tools", ()), declared_names)
    check_discipline_change(tx, name, fields)
    made = features.add_discipline(tx, name, fields, force=force)
    return ToolReply({"discipline": made}, f"Added discipline {_format_discipline(made)}")


@tool(
    title="Change a discipline",
    category=DISCIPLINES,
    aliases=["update_discipline"],
    idempotent=True,
    synonyms=DISCIPLINE_WORDS,
    errors=[MISSING],
)
def discipline_update(tx: Writer, name: Name, **changes: Unpack[DisciplineFields]) -> ToolReply:
    """Changes a discipline. Fields that are not given stay; a list replaces the old one."""
    check_denied(changes.get("denied_tools", ()), declared_names)
    check_discipline_change(tx, name, changes)
    made = features.update_discipline(tx, name, changes)
    return ToolReply({"discipline": made}, f"Changed discipline {_format_discipline(made)}")


@tool(title="Read a discipline", category=DISCIPLINES, aliases=["get_discipline"], errors=[MISSING])
def discipline_get(tx: Reader, name: Name) -> ToolReply:
    """Everything about a discipline."""
    found = features.get_discipline(tx, name)
    return ToolReply({"discipline": found}, _format_discipline(found))


@tool(title="List disciplines", category=DISCIPLINES, aliases=["list_disciplines"])
def discipline_list(tx: Reader) -> ToolReply:
    """All disciplines."""
    found = features.list_disciplines(tx)
    text = "\n".join(f"{one.name} [{one.acronym}] {', '.join(one.skills)}".rstrip() for one in found)
    return ToolReply({"disciplines": found}, text or "No disciplines.")


@tool(
    title="Delete a discipline",
    category=DISCIPLINES,
    aliases=["delete_discipline"],
    destructive=True,
    errors=[MISSING, USED],
)
def discipline_delete(tx: Writer, name: Name) -> ToolReply:
    """Deletes a discipline that no task refers to."""
    check_discipline_change(tx, name, None)
    gone = features.delete_discipline(tx, name)
    return ToolReply({"deleted": gone.name}, f"Deleted discipline {gone.name}")
