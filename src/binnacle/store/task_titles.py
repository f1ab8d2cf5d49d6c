"""Finds open tasks whose titles mean the same. Only open tasks of one feature, or of none, are compared.

The index `task_title` finds them by their sketches, however many tasks there are, and refuses two equal titles that are
added at the same time.
"""

from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from binnacle.errors import Duplicate
from binnacle.store.table import placeholders
from binnacle.store.transaction import Reader
from binnacle.work import steps
from binnacle.work.text import fold
from binnacle.work.titles import is_same_title, sketch_title

SKETCHES_PER_STATEMENT = 500
"""Sketches in one statement."""


class WantedTitle(NamedTuple):
    """A title that an open task is to have."""

    title: str
    feature: str | None
    sketch: str


class TitleTwin(NamedTuple):
    """What has a title already: an open task, or an earlier entry of the same batch."""

    title: str
    task_id: str = ""
    status: str = ""
    place: int | None = None
    """The place of the earlier entry, from 0."""


def title_columns(title: str) -> dict[str, str]:
    """The columns by which titles are compared."""
    return {"title_key": fold(title), "title_sketch": sketch_title(title)}


def find_twins(tx: Reader, wanted: Sequence[WantedTitle | None], *, but: str = "") -> dict[int, TitleTwin]:
    """What has the wanted titles already, by their places; `None` wants no title. The task `but` is not compared."""
    found: dict[int, TitleTwin] = {}
    known = _list_open(tx, [one for one in wanted if one is not None], but)
    for place, one in enumerate(wanted):
        if one is None:
            continue
        others = known.setdefault((one.feature, one.sketch), [])
        twin = next((other for other in others if is_same_title(one.title, other.title)), None)
        if twin is not None:
            found[place] = twin
        else:
            others.append(TitleTwin(one.title, place=place))
    return found


def check_title(tx: Reader, title: str, feature: str | None, *, but: str = "") -> None:
    """Refuses a title that another open task of the feature has.

    Raises:
        Duplicate: the error names that task.
    """
    if twin := find_twins(tx, [WantedTitle(title, feature, sketch_title(title))], but=but).get(0):
        raise_duplicate(title, twin)


def raise_duplicate(title: str, twin: TitleTwin) -> NoReturn:
    """Refuses a title because of what has it.

    Raises:
        Duplicate: always.
    """
    is_equal = fold(title) == fold(twin.title)
    if twin.place is not None:
        message = f"the same title twice in one batch: {fold(title)!r}"
        if not is_equal:
            message = f"nearly the same title twice in one batch: {twin.title!r} and {title!r}"
        raise Duplicate(message, hint="give each task its own title")
    which = "this title" if is_equal else "nearly this title"
    raise Duplicate(
        f"a task with {which} exists: {twin.task_id} ({twin.status}) {twin.title!r}",
        hint=(steps.show(twin.task_id), "or say in the new title what is different"),
        details={"existing": twin.task_id, "status": twin.status},
    )


def _list_open(tx: Reader, wanted: Sequence[WantedTitle], but: str) -> dict[tuple[str | None, str], list[TitleTwin]]:
    """The open tasks with these sketches, by feature and sketch."""
    found: dict[tuple[str | None, str], list[TitleTwin]] = {}
    for feature in dict.fromkeys(one.feature for one in wanted):
        sketches = [one.sketch for one in wanted if one.feature == feature]
        for start in range(0, len(sketches), SKETCHES_PER_STATEMENT):
            part = sketches[start : start + SKETCHES_PER_STATEMENT]
            rows = tx.rows(
                "select title_sketch, title, id, status from task where coalesce(feature, '') = ? "
                f"and title_sketch in {placeholders(part)} and status not in ('done', 'cancelled')",
                feature or "",
                *part,
            )
            for sketch, title, task_id, status in rows:
                if task_id != but:
                    found.setdefault((feature, sketch), []).append(TitleTwin(title, task_id, status))
    return found
