"""`bn feature`: the parts of the product."""

from argparse import Namespace
from typing import Any

from binnacle.cli.command import CommandAnswer, Group, arg, changes, reads
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen
from binnacle.store import features
from binnacle.store.views.overview import FeatureCount, count_by_feature
from binnacle.work.feature import Feature
from binnacle.work.learning import Learning

FEATURE = Group("feature")

NAME = arg("name", completes="feature", help="its name: letters, digits, '-' and '_'")
FIELDS = (
    arg("--title", help="its title in prompts and pages"),
    arg("--acronym", help="four letters or digits; by default made from the name"),
    arg("-d", "--description", help="what it is for"),
    arg("--architecture", help="how it is built"),
    arg("--boundaries", help="what does not belong to it"),
    arg(
        "--knowledge",
        dest="knowledge_paths",
        action="append",
        metavar="PATH",
        help="a document about it; may be repeated",
    ),
    arg("--file", dest="context_files", action="append", metavar="PATH", help="a file worth reading; may be repeated"),
    arg(
        "--needs",
        dest="dependencies",
        action="append",
        metavar="FEATURE",
        completes="feature",
        help="a feature it builds on; may be repeated",
    ),
    arg(
        "--check",
        dest="checks",
        action="append",
        metavar="NAME",
        help="a check that its tasks need; may be repeated",
    ),
)
_NAMES = (
    "title",
    "acronym",
    "description",
    "architecture",
    "boundaries",
    "knowledge_paths",
    "context_files",
    "dependencies",
    "checks",
)


class FeatureListAnswer(CommandAnswer):
    """All features."""

    features: list[Feature]


class FeatureAnswer(CommandAnswer):
    """A feature, with what was found out about it if that was asked for."""

    feature: Feature
    learnings: list[Learning] | None = None
    progress: FeatureCount | None = None


def given_fields(args: Namespace, names: tuple[str, ...]) -> dict[str, Any]:
    """The fields that options of the same names set. Empty list entries clear a list."""
    given = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    return {
        name: tuple(item for item in value if item) if isinstance(value, list) else value
        for name, value in given.items()
    }


def _show_list(answer: FeatureListAnswer, screen: Screen) -> None:
    if not answer.features:
        screen.line("no features; add one with: bn feature add NAME")
        return
    rows = ((one.name, one.acronym, one.title, one.description) for one in answer.features)
    screen.table(rows, flexible=3, headings=("NAME", "ACRONYM", "TITLE", "DESCRIPTION"))


def _show_one(answer: FeatureAnswer, screen: Screen) -> None:
    from binnacle.cli.views import fields, prose

    feature = answer.feature
    screen.heading(f"{feature.name}  {feature.title}")
    fields(
        (
            ("acronym", feature.acronym),
            ("tasks", _progress(answer.progress)),
            ("builds on", feature.dependencies),
            ("checks", feature.checks),
            ("documents", feature.knowledge_paths),
            ("files", feature.context_files),
            ("changed", feature.updated_at),
        ),
        screen,
    )
    prose("Description", feature.description, screen)
    prose("Architecture", feature.architecture, screen)
    prose("Boundaries", feature.boundaries, screen)
    prose("Learnings", [one.text for one in answer.learnings or ()], screen)


def _progress(count: FeatureCount | None) -> str:
    return "; ".join(filter(None, (count.proof.describe(), f"{count.open} open"))) if count else ""


@FEATURE.command(
    "add",
    "add a feature",
    "bn feature add billing -d 'Invoices and payments' --needs auth",
    NAME,
    *FIELDS,
    arg("--force", action="store_true", help="even if the name is almost taken"),
    view=_show_one,
    needs=changes("feature_add"),
)
def add(context: Context, args: Namespace) -> FeatureAnswer:
    with context.writing() as tx:
        return FeatureAnswer(feature=features.add(tx, args.name, given_fields(args, _NAMES), force=args.force))


@FEATURE.command("list", "all features", "bn feature list", view=_show_list, needs=reads("feature_list"))
def list_features(context: Context, args: Namespace) -> FeatureListAnswer:  # noqa: ARG001
    with context.reading() as tx:
        return FeatureListAnswer(features=features.list_features(tx))


@FEATURE.command(
    "show",
    "a feature with its learnings and tasks in numbers",
    "bn feature show auth",
    NAME,
    view=_show_one,
    needs=reads("feature_get"),
)
def show(context: Context, args: Namespace) -> FeatureAnswer:
    from binnacle.store import learnings

    with context.reading() as tx:
        feature = features.get(tx, args.name)
        found = learnings.list_learnings(tx, feature=feature.name)
        counts = count_by_feature(tx, feature.name)
        return FeatureAnswer(feature=feature, learnings=found, progress=counts[0] if counts else None)


@FEATURE.command(
    "update",
    "change a feature; a list given replaces the old one, '' clears it",
    "bn feature update auth --boundaries 'no authorization'",
    NAME,
    *FIELDS,
    view=_show_one,
    needs=changes("feature_update"),
)
def update(context: Context, args: Namespace) -> FeatureAnswer:
    with context.writing() as tx:
        return FeatureAnswer(feature=features.update(tx, args.name, given_fields(args, _NAMES)))


@FEATURE.command(
    "merge",
    "move everything of a feature to another and remove it",
    "bn feature merge authentication --into auth",
    NAME,
    arg("--into", required=True, metavar="FEATURE", completes="feature", help="the feature that stays"),
    view=_show_one,
    needs=changes("feature_merge"),
)
def merge(context: Context, args: Namespace) -> FeatureAnswer:
    from binnacle.store.feature_merge import merge_features

    with context.writing() as tx:
        return FeatureAnswer(feature=merge_features(tx, args.name, args.into))


@FEATURE.command(
    "delete",
    "delete a feature that nothing refers to",
    "bn feature delete billing",
    NAME,
    view=_show_one,
    needs=changes("feature_delete"),
)
def delete(context: Context, args: Namespace) -> FeatureAnswer:
    with context.writing() as tx:
        return FeatureAnswer(feature=features.delete(tx, args.name))
