"""The graph of tasks: what waits for what, what is ready, and what holds up most."""

from typing import Any

from binnacle.errors import NotFound
from binnacle.store import features, task_moves, tasks
from binnacle.store.views.dependency_graph import MAX_GRAPH_TASKS
from binnacle.work.task import NewTask

from .conftest import OpenPage

HOSTILE = '<img src=x onerror="alert(1)">\u202e `; drop table task; --'


def add(page: OpenPage, *new: NewTask) -> list[str]:
    return page.write(lambda tx: [task.id for task in tasks.add(tx, new)])


def chain(page: OpenPage) -> list[str]:
    """Three tasks, each of which waits for the one before, and one that has to do with none."""
    one = NewTask(title="cart")
    return add(
        page,
        one,
        NewTask(title="shipping", depends_on=("#1",)),
        NewTask(title="invoice", depends_on=("#2",)),
        NewTask(title="colours"),
    )


def by_title(answer: dict[str, Any]) -> dict[str, Any]:
    return {node["title"]: node for node in answer["nodes"]}


def test_says_what_waits_for_what_and_what_holds_up_most(page):
    cart, shipping, invoice, _ = chain(page)
    answer = page("graph")
    assert sorted(answer["edges"]) == sorted([[shipping, cart], [invoice, shipping]])
    found = by_title(answer)
    assert {title: (node["blocks"], node["is_ready"]) for title, node in found.items()} == {
        "cart": (2, True),
        "shipping": (1, False),
        "invoice": (0, False),
    }
    assert not answer["cut"]


def test_tasks_that_have_to_do_with_no_other_are_shown_if_asked_for(page):
    chain(page)
    assert "colours" in by_title(page("graph", alone=True))


def test_a_closed_task_is_shown_if_asked_for_and_holds_up_nothing(page):
    cart, shipping, _, _ = chain(page)
    page.write(lambda tx: task_moves.finish(tx, cart))
    assert set(by_title(page("graph"))) == {"shipping", "invoice"}
    with_closed = by_title(page("graph", closed=True))
    assert with_closed["cart"]["status"] == "done"
    assert with_closed["shipping"]["is_ready"]
    page.write(lambda tx: task_moves.finish(tx, shipping))
    assert [node["blocks"] for node in page("graph", closed=True)["nodes"]] == [0, 0, 0]


def test_of_one_task_all_that_is_before_and_after_it(page):
    _, shipping, _, colours = chain(page)
    assert set(by_title(page("graph", root=shipping))) == {"cart", "shipping", "invoice"}
    assert set(by_title(page("graph", root=colours))) == {"colours"}
    assert isinstance(page.fails("graph", root="bn-ffff"), NotFound)


def test_only_one_feature_or_status(page):
    page.write(lambda tx: features.add(tx, "search", {}))
    add(page, NewTask(title="index", feature="search"), NewTask(title="query", feature="search", depends_on=("#1",)))
    chain(page)
    answer = page("graph", feature="search")
    assert set(by_title(answer)) == {"index", "query"}
    assert answer["features"] == ["search"]
    assert set(by_title(page("graph", status=["blocked"], alone=True))) == set()
    assert isinstance(page.fails("graph", feature="sarch"), NotFound)


def test_titles_are_given_as_they_are(page):
    (task,) = add(page, NewTask(title=HOSTILE))
    title = page("graph", alone=True)["nodes"][0]["title"]
    assert title == page.read(lambda tx: tasks.get(tx, task)).title
    assert "<img" in title


def test_a_graph_too_large_to_show_is_cut(page):
    batches = [
        [NewTask(title=f"task {start + n}") for n in range(100)] for start in range(0, MAX_GRAPH_TASKS + 100, 100)
    ]
    for batch in batches:
        add(page, *batch)
    answer = page("graph", alone=True)
    assert answer["cut"]
    assert len(answer["nodes"]) == MAX_GRAPH_TASKS
