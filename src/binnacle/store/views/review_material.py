"""Loads what a reviewer sees of a change besides its code."""

from binnacle.store import evidence, review_remarks, reviews, tasks
from binnacle.store.transaction import Reader
from binnacle.work.review import Review
from binnacle.work.review_material import ReviewMaterial, judge_criteria

MAX_REMARKS_SHOWN = 100


def load_material(tx: Reader, found: Review) -> ReviewMaterial:
    """What a reviewer sees. What other reviewers of the same change wrote is not among it: each judges alone."""
    task = tasks.get(tx, found.task_id)
    results = tuple(evidence.get_many(tx, found.evidence))
    remarks = [one for one in review_remarks.list_remarks(tx, task.id) if one.state != "draft"]
    return ReviewMaterial(
        review=found,
        task=task,
        criteria=judge_criteria(task.acceptance_criteria, results),
        evidence=results,
        remarks=tuple(remarks[-MAX_REMARKS_SHOWN:]),
        previous_commit=_find_previous(tx, found),
    )


def _find_previous(tx: Reader, found: Review) -> str:
    """The commit of the newest other review in which somebody said something."""
    others = [one for one in reviews.list_of_task(tx, found.task_id) if one.tree != found.tree]
    said = reviews.list_of_reviews(tx, [one.id for one in others])
    return next((one.commit_id for one in others if said[one.id]), "")
