"""The log and the search, as people read them."""

import json

import pytest


def sentences(bn, *words):
    """What a person reads in the log, without the times."""
    return [line[20:] for line in bn.human("log", "-n", "0", *words).splitlines()]


def test_the_log_reads_as_sentences(bn):
    first, second = bn.add("Design the table"), bn.add("Write the endpoint")
    bn("task", "dep", "add", second, first, "--reason", "needs the table")
    bn("task", "update", first, "-p", "high", "-d", "columns and all", "+db")
    bn("task", "start", first)
    bn("task", "comment", first, "two tables, not one")
    bn("task", "done", first, "-m", "merged")
    bn("task", "dep", "rm", second, first)
    bn("queue", "add", second)
    bn("task", "skip", second, "-m", "not needed")
    bn("progress", "add", "half way")
    assert sentences(bn) == [
        f'ann added {first} "Design the table"',
        f'ann added {second} "Write the endpoint"',
        f'ann made {second} "Write the endpoint" wait for {first}: needs the table',
        f'ann changed {first} "Design the table": description, priority 2 → 1, tags none → db',
        f'ann started {first} "Design the table"',
        f'ann commented on {first} "Design the table": two tables, not one',
        f'ann finished {first} "Design the table": merged',
        f'ann let {second} "Write the endpoint" no longer wait for {first}',
        f'ann put {second} "Write the endpoint" into the queue',
        f'ann cancelled {second} "Write the endpoint": not needed',
        f'ann took {second} "Write the endpoint" out of the queue',
        "ann noted progress: half way",
    ]


def test_no_event_reads_as_json(bn):
    task = bn.add("One", "-f", bn("feature", "add", "auth")["feature"]["name"])
    bn("feature", "update", "auth", "--title", "Sign in")
    bn("learning", "add", "tokens expire", "--reason", "seen it")
    bn("note", "add", "wait for dusk")
    bn("discipline", "add", "testing")
    bn("next", "--claim", env=bn.agent("bob"))
    bn("task", "delete", task, "--force")
    found = sentences(bn)
    assert len(found) > 7
    assert not [line for line in found if "{" in line or "[" in line]
    assert f'ann deleted {task} "One"' in found


def test_a_log_without_events_says_so(bn):
    assert "nothing happened yet" in bn.human("log")


def test_the_log_of_a_task_has_its_comments_and_no_others(bn):
    one, two = bn.add("One"), bn.add("Two")
    bn("task", "comment", one, "on one")
    bn("task", "comment", two, f'this names "task":"{one}" and {one}')
    bn("task", "block", one, "-m", "no access")
    events = bn("log", "--of", one[3:])["events"]
    assert [(event["entity"], event["action"]) for event in events] == [
        ("task", "added"),
        ("comment", "added"),
        ("comment", "added"),
        ("task", "blocked"),
    ]
    assert {event["changes"].get("task", one) for event in events} == {one}
    bn("task", "delete", one)
    assert len(bn("log", "--of", one)["events"]) == 5, "also when the task and its comments are gone"


@pytest.mark.parametrize("name", ["%", "_", "auth%"])
def test_a_name_is_taken_as_it_is_written(bn, name):
    bn.add("One")
    assert bn("log", "--of", name)["events"] == []


def test_a_search_says_how_much_there_is(bn):
    titles = [{"title": f"stone number {n}", "tags": ["grey", "heavy"], "description": "it rolls"} for n in range(30)]
    bn("task", "add", "--from", "-", stdin=json.dumps(titles))
    found = bn("search", "stone")
    assert (len(found["hits"]), found["total"]) == (20, 30)
    assert bn("search", "stone", "--in", "comment") == {"hits": [], "total": 0}
    shown = bn.human("search", "stone")
    assert "30 found" in shown
    assert "10 more; -n 0 shows all" in shown
    assert "more" not in bn.human("search", "stone", "-n", "0")


def test_a_search_shows_tags_as_people_write_them(bn):
    bn.add("One", "+grey", "+heavy", "-d", "it rolls")
    (hit,) = bn("search", "grey")["hits"]
    assert hit["snippet"] == "it rolls +grey +heavy"
    assert "[" not in bn.human("search", "grey")
