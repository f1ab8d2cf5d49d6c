"""The counts of the navigation, and the search of the palette."""

from binnacle.store import attention, tasks
from binnacle.work.task import NewTask


def test_the_navigation_counts_what_is_open(page):
    page.write(lambda tx: tasks.add(tx, [NewTask(title="Take orders"), NewTask(title="Old", status="cancelled")]))
    assert page("view_counts")["newest_need"] == ""
    entry = page.write(lambda tx: attention.open_entry(tx, "permission", "may I?"))
    counts = page("view_counts")
    assert counts.pop("newest_need")[:19] == entry.created_at.isoformat()[:19]
    assert counts == {"needs_you": 1, "open_tasks": 1, "runs": 0, "reviews": 0, "agents": 0}


def test_the_palette_finds_tasks_by_the_beginning_of_their_id_and_by_words(page):
    first, second = page.write(lambda tx: tasks.add(tx, [NewTask(title="Take orders"), NewTask(title="Ship parcels")]))
    assert page("search_tasks", text="parc")["tasks"] == [
        {"id": second.id, "title": "Ship parcels", "status": "pending"}
    ]
    assert page("search_tasks", text=first.id)["tasks"][0]["id"] == first.id
    assert page("search_tasks", text=first.id[3:])["tasks"][0]["id"] == first.id


def test_the_palette_finds_nothing_for_text_without_words(page):
    assert page("search_tasks", text="?!")["tasks"] == []


def test_the_palette_finds_as_many_as_are_asked_for(page):
    page.write(lambda tx: tasks.add(tx, [NewTask(title=f"Parcel number {n}") for n in range(5)]))
    assert len(page("search_tasks", text="parcel", limit=3)["tasks"]) == 3
