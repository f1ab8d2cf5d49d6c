"""The search for the first bad commit: it finds it, in few looks, also past commits that cannot be judged."""

from math import ceil, log2

from hypothesis import given
from hypothesis import strategies as st

from binnacle.work.bisection import Bisection


def search(length: int, culprit: int, unclear: frozenset[int] = frozenset()) -> tuple[range, int]:
    """The suspects that are left, and the number of looks."""
    now, looks = Bisection(bad=length - 1), 0
    while (place := now.probe) is not None:
        looks += 1
        result = "bad" if place >= culprit else "good"
        now = now.narrow(place, "unclear" if place in unclear else result)
    return now.suspects, looks


@given(st.integers(1, 3000).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n - 1))))
def test_it_finds_the_culprit_in_as_many_looks_as_halves(found):
    length, culprit = found
    suspects, looks = search(length, culprit)
    assert list(suspects) == [culprit]
    assert looks <= ceil(log2(length)) if length > 1 else looks == 0


@given(st.integers(1, 60), st.data())
def test_the_culprit_is_always_among_the_suspects(length, data):
    culprit = data.draw(st.integers(0, length - 1))
    unclear = data.draw(st.frozensets(st.integers(0, length - 1)))
    suspects, looks = search(length, culprit, unclear)
    assert culprit in suspects
    assert looks <= length
    assert all(place in unclear for place in suspects[:-1])


def test_one_commit_needs_no_look():
    assert Bisection(bad=0).probe is None
