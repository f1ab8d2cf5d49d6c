"""Events can be followed as they are made: in order, and without missing one."""

import contextlib
import itertools
import threading

from binnacle.store import events, notes, task_moves
from store.overlap import Meanwhile, wait_until_someone_waits
from store.processes import crowd
from store.verbs import AGENT, OTHER, do, put, rows

PATIENCE = 60


def follow(store, *, after=0):
    """Batches as they come. A wait that brings nothing ends it, so that no test waits for ever."""
    return itertools.takewhile(bool, events.follow(store, after=after, wait=PATIENCE))


def test_what_is_there_already_comes_first(store):
    made = [put(store).id for _ in range(3)]
    assert [event.entity_id for event in next(follow(store))] == made


def test_following_begins_after_the_number_given(store):
    put(store, "old")
    after = rows(store, "select max(seq) from event")[0][0]
    task = put(store, "new")
    assert [event.entity_id for event in next(follow(store, after=after))] == [task.id]


def test_silence_is_told_when_the_wait_is_over(store):
    put(store)
    followed = events.follow(store, after=1, wait=0.05)
    assert next(followed) == []
    assert next(followed) == []


def test_what_another_connection_does_is_seen(place, store):
    followed = follow(store)
    other = place.open()
    for number in range(5):
        task = put(other, f"step {number}")
        assert [(event.entity_id, event.action) for event in next(followed)] == [(task.id, "added")]


def test_a_claim_is_seen_too(place, store):
    task = put(store)
    followed = follow(store, after=1)
    other = place.open()
    with other.claim(by=AGENT) as tx:
        task_moves.claim_next(tx)
    assert [(event.entity_id, event.action) for event in next(followed)] == [(task.id, "started")]


def test_a_follower_that_waits_is_woken(place):
    """The follower is in its wait when the change comes, or about to be: both must do."""
    store, other = place.open(), place.open()
    seen = []
    thread = threading.Thread(target=lambda: seen.extend(next(follow(store))))
    thread.start()
    task = put(other)
    thread.join(PATIENCE)
    assert [event.entity_id for event in seen] == [task.id]


class Overtaken:
    """A store on which someone makes a change right after every look at it."""

    def __init__(self, store, change):
        self.wait_change, self.repeat_if_lost = store.wait_change, store.repeat_if_lost
        self._read = store.read
        self._change = change

    @contextlib.contextmanager
    def read(self):
        with self._read() as tx:
            yield tx
        self._change()


def test_a_change_between_the_look_and_the_wait_is_not_slept_through(place):
    store, other = place.open(), place.open()
    made = []
    followed = follow(Overtaken(store, lambda: made.append(put(other).id)))
    for number in range(3):
        assert [event.entity_id for event in next(followed)] == [made[number]]


def test_events_of_claims_that_pass_each_other_are_numbered_in_the_order_they_appear(place):
    store, other = place.open(), place.open()
    put(store)
    put(store)

    def claim():
        with other.claim(by=OTHER) as tx:
            return task_moves.claim_next(tx)

    with store.claim(by=AGENT) as tx:
        task_moves.claim_next(tx)
        tx.write_events()
        tx._events.clear()  # they have their numbers now, and are not committed yet
        meanwhile = Meanwhile(claim)
        wait_until_someone_waits(place)
    meanwhile.result()
    assert rows(store, "select actor from event where action = 'started' order by seq") == [
        (AGENT.name,),
        (OTHER.name,),
    ]


def test_more_than_one_batch_is_followed_in_order(store):
    with store.write(by=AGENT) as tx:
        notes.add(tx, [("tip", f"note {number}") for number in range(1200)])
    batches = list(itertools.islice(follow(store), 3))
    assert [len(batch) for batch in batches] == [events.FOLLOW_BATCH_EVENTS, events.FOLLOW_BATCH_EVENTS, 200]
    numbers = [event.seq for batch in batches for event in batch]
    assert numbers == sorted(numbers)


def test_none_is_missed_while_many_write_at_once(place):
    store = place.open()
    writers, each = 8, 25
    # Every fifth transaction is undone: its numbers are drawn and never seen.
    expected = writers * each * 4 // 5 * 2
    seen = []
    with crowd(place, writers, "jot", str(each)) as process:
        for batch in follow(store):
            seen += batch
            if len(seen) >= expected:
                break
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    numbers = [event.seq for event in seen]
    assert numbers == sorted(set(numbers))
    assert numbers == [row[0] for row in rows(store, "select seq from event order by seq")]
    assert len(numbers) == expected


def test_the_log_is_read_only_when_something_changed(place, store):
    """The change check itself sees nothing while nobody writes, and a commit of another at once."""
    other = place.open()
    store.wait_change(0)
    assert store.wait_change(0) is False
    do(other, notes.add_progress, "half way")
    assert store.wait_change(PATIENCE) is True
    assert store.wait_change(0) is False
