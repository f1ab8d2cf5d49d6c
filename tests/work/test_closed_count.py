"""How many tasks are closed, by how well it is known that they are done."""

import pytest

from binnacle.work.closed_count import ClosedCount, count_closed


def test_levels_are_named_the_best_first():
    found = count_closed([("done", "accepted", 1), ("done", "checked", 8), ("done", "merged", 3)])
    assert found == ClosedCount(checked=11, accepted=1)
    assert (found.describe(), found.done, found.is_proven) == ("12 done: 11 checked, 1 accepted", 12, True)


@pytest.mark.parametrize(
    ("level", "words"), [("said", "1 only said"), ("observed", "1 only observed"), ("", "1 only said")]
)
def test_words_alone_prove_nothing(level, words):
    found = count_closed([("done", "checked", 2), ("done", level, 1)])
    assert (found.describe(), found.is_proven, found.unproven) == (f"3 done: 2 checked, {words}", False, 1)


def test_a_waiver_is_named_and_counts():
    found = count_closed([("done", "waived", 2)])
    assert (found.describe(), found.is_proven) == ("2 done: 2 waived", True)


def test_cancelled_tasks_are_not_done():
    found = count_closed([("done", "checked", 1), ("cancelled", "", 2), ("pending", "", 7)])
    assert (found.describe(), found.done, found.total) == ("1 done: 1 checked; 2 cancelled", 1, 3)
    alone = count_closed([("cancelled", "", 2)])
    assert (alone.describe(), alone.is_proven) == ("2 cancelled", False)


def test_nothing_is_no_success():
    assert (ClosedCount().describe(), ClosedCount().is_proven) == ("", False)
