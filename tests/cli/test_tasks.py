"""Tasks from the command line, as a person and as an agent use them."""

import json


def test_a_task_goes_from_idea_to_done(bn):
    first = bn.add("Design the table", "-p", "high")
    second = bn.add("Write the endpoint", "--after", first, "--reason", "needs the table")

    assert [task["id"] for task in bn("ready")["tasks"]] == [first]
    claimed = bn("next", "--claim", env=bn.agent("bob"))
    assert claimed["task"]["id"] == first
    assert claimed["fence"] == 1
    assert claimed["expires_at"] is not None
    done = bn("task", "done", first, "-m", "merged", "--fence", "1", env=bn.agent("bob"))
    assert done["unblocked"] == [second]
    assert [task["id"] for task in bn("ready")["tasks"]] == [second]


def test_a_task_shows_everything_that_was_said_about_it(bn):
    bn("feature", "add", "auth")
    bn("discipline", "add", "testing")
    other = bn.add("Something before")
    task = bn.add(
        "Mend the login",
        *("-d", "It fails.", "-p", "0", "-k", "bug", "-f", "auth", "--discipline", "testing", "-t", "login"),
        *("-a", "logs in", "-a", "logs out", "--file", "src/login.py", "--artifact", "src/new.py", "--turns", "3"),
        *("--hints", "look at NFC", "--pseudocode", "1. normalise", "--after", other),
    )
    bn("task", "comment", task, "tried it")

    shown = bn("task", "show", task)

    assert shown["task"]["priority"] == 0
    assert shown["task"]["acceptance_criteria"] == ["logs in", "logs out"]
    assert shown["task"]["estimated_turns"] == 3
    assert shown["depends_on"][0]["id"] == other
    assert [comment["body"] for comment in shown["comments"]] == ["tried it"]
    human = bn.human("task", "show", task)
    for text in ("Mend the login", "0 (critical)", "It fails.", "logs out", "src/login.py", "tried it", "Waits for"):
        assert text in human


def test_three_digits_of_an_id_suffice(bn):
    task = bn.add("One")
    assert bn("task", "show", task[3:6])["task"]["id"] == task
    assert bn("task", "show", task[3:].upper())["task"]["id"] == task


def test_a_batch_comes_from_json_and_refers_to_itself(bn):
    batch = [{"title": "one"}, {"title": "two", "depends_on": ["#1"], "priority": 0}]
    made = bn("task", "add", "--from", "-", stdin=json.dumps(batch))["tasks"]
    assert [task["title"] for task in made] == ["one", "two"]
    assert made[1]["waits_for"] == 1
    assert made[1]["priority"] == 0


def test_a_batch_with_one_mistake_adds_nothing(bn):
    for batch, word in (
        ([{"title": "one"}, {"title": " ONE "}], "E_DUPLICATE"),
        ([{"title": "one"}, {"title": ""}], "E_INVALID_PARAMS"),
        ([{"title": "one"}, {"titel": "two"}], "E_INVALID_PARAMS"),
        ([{"title": "one"}, {"title": "two", "feature": "nope"}], "E_NOT_FOUND"),
        ([{"title": "one", "priority": 9}], "E_INVALID_PARAMS"),
        ({"title": "one"}, "E_INVALID_PARAMS"),
    ):
        error = bn.fails("task", "add", "--from", "-", stdin=json.dumps(batch))
        assert error["code"] == word
        assert error["hint"]
    assert bn("task", "list", "--all")["total"] == 0


def test_update_replaces_what_is_given_and_keeps_the_rest(bn):
    task = bn.add("One", "-t", "a", "-t", "b", "-d", "text")
    bn("task", "update", task, "--title", "Uno", "-p", "backlog", "-t", "c")
    shown = bn("task", "show", task)["task"]
    assert (shown["title"], shown["priority"], shown["tags"], shown["description"]) == ("Uno", 4, ["c"], "text")
    bn("task", "update", task, "-t", "", "-d", "")
    shown = bn("task", "show", task)["task"]
    assert "tags" not in shown
    assert "description" not in shown


def test_update_changes_fields_and_status_together_or_not_at_all(bn):
    task = bn.add("One")
    error = bn.fails("task", "update", task, "--title", "Two", "--status", "cancelled")
    assert error["code"] == "E_INVALID_PARAMS"
    assert bn("task", "show", task)["task"]["title"] == "One"
    bn("task", "update", task, "--title", "Two", "--status", "skipped", "--reason", "not needed")
    assert bn("task", "show", task)["task"]["status"] == "cancelled"


def test_every_move_of_a_task(bn):
    task = bn.add("One")
    other = bn.add("Two")

    def status() -> str:
        return bn("task", "show", task)["task"]["status"]

    bn("task", "start", task)
    assert status() == "in_progress"
    bn("task", "release", task)
    assert status() == "pending"
    bn("task", "block", task, "--reason", "no access")
    assert status() == "blocked"
    bn("task", "reopen", task)
    bn("task", "block", task, "--reason", "needs two", "--on", other)
    assert status() == "pending"
    assert bn("blocked")["waits_for"] == {task: [other]}
    bn("task", "skip", other, "--reason", "gone")
    started = bn("task", "start", task)
    assert other in started["warnings"][0]
    bn("task", "done", task)
    assert status() == "done"


def test_split_makes_parts_that_the_task_waits_for(bn):
    task = bn.add("Big", "-p", "1")
    made = bn("task", "split", task, "first", "second", "--chain")
    assert made["task"]["waits_for"] == 2
    assert [part.get("waits_for", 0) for part in made["parts"]] == [0, 1]
    assert [one["id"] for one in bn("ready")["tasks"]] == [made["parts"][0]["id"]]
    assert len(bn("task", "list", "--parent", task)["tasks"]) == 2


def test_dependencies_are_added_shown_and_removed(bn):
    one, two = bn.add("One"), bn.add("Two")
    bn("task", "dep", "add", two, one, "--reason", "order")
    tree = bn("task", "dep", "tree", two)
    assert tree["edges"] == [[two, one]]
    assert "└── " in bn.human("task", "dep", "tree", two)
    circle = bn.fails("task", "dep", "add", one, two)
    assert circle["code"] == "E_CYCLE"
    assert f"{one} → {two} → {one}" in circle["message"]
    bn("task", "dep", "rm", two, one)
    assert bn("task", "dep", "tree", two)["edges"] == []


def test_lists_filter_by_everything_a_task_says(bn):
    bn("feature", "add", "auth")
    mine = bn.add("Mine", "-f", "auth", "-t", "x", "-p", "1", "-k", "bug")
    bn.add("Other")
    bn("task", "start", mine)
    for filters in (["-f", "auth"], ["-t", "x"], ["-p", "high"], ["-k", "bug"], ["--mine"], ["-s", "in-progress"]):
        assert [task["id"] for task in bn("task", "list", *filters)["tasks"]] == [mine], filters
    bn("task", "done", mine)
    assert bn("task", "list")["total"] == 1
    assert bn("task", "list", "--all")["total"] == 2
    assert len(bn("task", "list", "--all", "-n", "1")["tasks"]) == 1


def test_move_and_delete(bn):
    bn("feature", "add", "auth")
    one, two = bn.add("One"), bn.add("Two")
    moved = bn("task", "move", one, two, "--to", "auth")
    assert [task["feature"] for task in moved["tasks"]] == ["auth", "auth"]
    bn("task", "delete", one)
    assert bn.fails("task", "show", one)["code"] == "E_NOT_FOUND"


def test_the_queue_goes_first(bn):
    one, two, three = bn.add("One"), bn.add("Two"), bn.add("Three")
    bn("queue", "add", three)
    bn("queue", "add", two, "--first")
    assert [task["id"] for task in bn("queue")["tasks"]] == [two, three]
    assert [task["id"] for task in bn("ready")["tasks"]] == [two, three, one]
    bn("queue", "rm", two)
    assert [task["id"] for task in bn("ready")["tasks"]] == [three, one, two]
    four = bn.add("Four", "-q")
    assert [task["id"] for task in bn("queue")["tasks"]] == [three, four]


def test_an_agent_holds_one_task_and_cannot_touch_anothers(bn):
    one, two = bn.add("One"), bn.add("Two")
    first = bn("next", "--claim", env=bn.agent("bob"))
    again = bn("next", "--claim", env=bn.agent("bob"))
    assert (again["task"]["id"], again["fence"], again["held"]) == (one, first["fence"], True)
    looked = bn("next", env=bn.agent("bob"))
    assert (looked["task"]["id"], looked["claimed"], looked["held"]) == (one, True, True)
    assert "you already work on this task" in bn.human("next", env=bn.agent("bob"))
    assert bn("next", env=bn.agent("eve"))["task"]["id"] == two
    assert bn.fails("task", "start", two, env=bn.agent("bob"))["code"] == "E_HOLDS_ANOTHER"
    assert bn.fails("task", "done", one, env=bn.agent("eve"))["code"] == "E_CLAIMED"
    assert bn.fails("task", "start", one, env=bn.agent("eve"))["code"] == "E_CLAIMED"
    assert bn("next", "--claim", "--force", env=bn.agent("bob"))["claimed"] is True
    assert bn("next", "--claim", env=bn.agent("eve")) == {"task": None, "claimed": False}


def test_an_agent_given_up_for_dead_cannot_overwrite_its_successor(bn):
    task = bn.add("One")
    short = {"BN_CLAIM_MINUTES": "0.01"}
    lost = bn("next", "--claim", env=bn.agent("bob") | short)["fence"]
    won = _claim_when_lapsed(bn)
    assert won["task"]["id"] == task
    assert won["fence"] == lost + 1
    error = bn.fails("task", "done", task, "--fence", str(lost), env=bn.agent("bob"))
    assert error["code"] == "E_STALE_CLAIM"
    assert error["details"]["holder"] == bn.agent("eve")["BN_AGENT_ID"]
    bn("task", "done", task, "--fence", str(won["fence"]), env=bn.agent("eve"))


def _claim_when_lapsed(bn):
    for _ in range(100):
        found = bn("next", "--claim", env=bn.agent("eve"))
        if found["claimed"]:
            return found
    raise AssertionError("the claim never lapsed")


def test_next_without_claim_only_looks(bn):
    task = bn.add("One")
    assert bn("next")["task"]["id"] == task
    assert bn("next")["task"]["status"] == "pending"
    assert bn("log")["events"][-1]["action"] == "added"
