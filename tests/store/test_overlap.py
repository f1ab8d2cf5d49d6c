"""Two transactions at the same time: what one decided still holds when it commits."""

from binnacle.errors import Claimed
from binnacle.store import task_moves, tasks
from binnacle.store.store import DEFAULT_LEASE
from binnacle.work.actor import Actor
from places import NOW
from store.overlap import Meanwhile, wait_until_someone_waits
from store.verbs import AGENT, OTHER, actions, again, do, put


def test_a_task_being_claimed_is_not_started_by_another(place):
    store, other = place.open(), place.open()
    task = put(store)

    def start():
        with other.write(by=OTHER) as tx:
            return task_moves.start(tx, task.id)

    with store.claim(by=AGENT) as tx:
        assert task_moves.claim_next(tx).task.id == task.id
        meanwhile = Meanwhile(start)
        wait_until_someone_waits(place)
    assert isinstance(meanwhile.result(), Claimed)
    assert (again(store, task).claimed_by, again(store, task).fence) == (AGENT.name, 1)


def test_a_task_being_claimed_is_not_cancelled_by_another(place):
    store, other = place.open(), place.open()
    task = put(store)

    def skip():
        with other.write(by=OTHER) as tx:
            return task_moves.skip(tx, task.id, reason="nobody has it")

    with store.claim(by=AGENT) as tx:
        task_moves.claim_next(tx)
        meanwhile = Meanwhile(skip)
        wait_until_someone_waits(place)
    assert isinstance(meanwhile.result(), Claimed)
    assert again(store, task).status == "in_progress"


def test_a_task_being_reopened_keeps_those_who_wait_from_being_claimed(place):
    store, other = place.open(), place.open()
    first = put(store, status="done")
    put(store, depends_on=(first.id,))

    def claim():
        with other.claim(by=AGENT) as tx:
            return task_moves.claim_next(tx).task.id

    with store.write(by=OTHER) as tx:
        task_moves.reopen(tx, first.id)
        meanwhile = Meanwhile(claim)
        wait_until_someone_waits(place)
    assert meanwhile.result() == first.id


def test_claims_pass_each_other_on_an_engine_that_can(postgres_place):
    store, other = postgres_place.open(), postgres_place.open()
    first, second = put(store), put(store)
    with store.claim(by=AGENT) as tx:
        assert task_moves.claim_next(tx).task.id == first.id
        with other.claim(by=OTHER) as other_tx:
            assert task_moves.claim_next(other_tx).task.id == second.id


def test_claims_of_one_agent_wait_for_each_other(place):
    store, other = place.open(), place.open()
    first = put(store)
    put(store)

    def claim():
        with other.claim(by=AGENT) as tx:
            return task_moves.claim_next(tx)

    with store.claim(by=AGENT) as tx:
        task_moves.claim_next(tx)
        meanwhile = Meanwhile(claim)
        wait_until_someone_waits(place)
    assert (meanwhile.result().task.id, meanwhile.result().was_held) == (first.id, True)


def test_a_lapsed_claim_that_another_takes_over_is_passed_over(postgres_place):
    store, other = postgres_place.open(), postgres_place.open()
    lapsed, free = put(store, priority=0), put(store)
    do(store, task_moves.start, lapsed.id, by=Actor("bna-dead", "agent"))
    later = NOW + DEFAULT_LEASE
    with store.claim(by=AGENT, now=later) as tx:
        assert task_moves.claim_next(tx).task.id == lapsed.id
        with other.claim(by=OTHER, now=later) as other_tx:
            assert task_moves.claim_next(other_tx).task.id == free.id
    assert actions(store, lapsed.id) == ["added", "started", "lapsed", "started"]


def test_a_reader_sees_one_moment_while_others_write(place):
    store, other = place.open(), place.open()
    put(store, "first")
    with store.read() as tx:
        before = tasks.list_ready(tx, limit=10)
        put(other, "second")
        assert tasks.list_ready(tx, limit=10) == before
    with store.read() as tx:
        assert tasks.list_ready(tx, limit=10)[1] == 2


def test_two_writers_do_not_give_out_the_same_title(place):
    store, other = place.open(), place.open()

    def add():
        return put(other, "the same")

    with store.write(by=AGENT) as tx:
        meanwhile = Meanwhile(add)
        wait_until_someone_waits(place)
        mine = tasks.add(tx, [tasks.NewTask(title="the same")])
    assert meanwhile.result().details["existing"] == mine[0].id
