"""Several tasks in one command: all of them or none, tags as words, and how much of a list is shown."""

import pytest

CHANGES = {
    "done": ["-m", "merged"],
    "start": [],
    "release": [],
    "update": ["-p", "high"],
    "delete": [],
    "block": ["-m", "no access"],
    "skip": ["-m", "not needed"],
    "reopen": [],
}


@pytest.fixture
def three(bn):
    return [task["id"] for task in bn("task", "add", "Design the table", "Write the endpoint", "Test it all")["tasks"]]


def statuses(bn, ids):
    return [bn("task", "show", one)["task"]["status"] for one in ids]


def prepare(bn, command, ids):
    if command == "release":
        bn("task", "start", *ids)
    if command == "reopen":
        bn("task", "skip", *ids, "-m", "later")


@pytest.mark.parametrize("command", CHANGES)
def test_every_move_takes_several_tasks(bn, three, command):
    prepare(bn, command, three)
    results = bn("task", command, *three, *CHANGES[command])["results"]
    assert [result["task"]["id"] for result in results] == three
    if command == "delete":
        assert bn("task", "list", "--all")["total"] == 0


@pytest.mark.parametrize("command", CHANGES)
def test_one_id_answers_with_one_task_as_before(bn, three, command):
    prepare(bn, command, three[:1])
    answer = bn("task", command, three[0], *CHANGES[command])
    assert answer["task"]["id"] == three[0]
    assert set(answer) <= {"task", "fence", "expires_at", "unblocked", "warnings"}


@pytest.mark.parametrize("command", CHANGES)
def test_a_wrong_id_among_several_is_named_and_nothing_changes(bn, three, command):
    prepare(bn, command, three)
    before = bn("task", "show", *three), len(bn("log", "-n", "0")["events"])
    error = bn.fails("task", command, *three[:2], "bn-0f0f0f", *CHANGES[command])
    assert error["code"] == "E_NOT_FOUND"
    assert "bn-0f0f0f" in error["message"]
    assert (bn("task", "show", *three), len(bn("log", "-n", "0")["events"])) == before


def test_a_task_that_cannot_move_keeps_the_others_where_they_are(bn, three):
    bn("task", "done", three[2])
    error = bn.fails("task", "done", *three)
    assert three[2] in error["message"]
    assert "none of the tasks was changed" in error["hint"]
    assert error["details"]["id"] == three[2]
    assert statuses(bn, three) == ["pending", "pending", "done"]


def test_an_error_that_names_no_task_gets_its_name(bn, three):
    error = bn.fails("task", "update", *three, "--parent", three[1])
    assert error["message"].startswith(three[1])


def test_the_same_task_twice_counts_once(bn, three):
    results = bn("task", "done", three[0], three[0][3:])["results"]
    assert [result["task"]["id"] for result in results] == [three[0]]


def test_what_the_command_closes_itself_is_not_called_ready(bn, three):
    first, second, third = three
    bn("task", "dep", "add", second, first)
    bn("task", "dep", "add", third, second)
    results = bn("task", "done", first, second)["results"]
    assert [result.get("unblocked", []) for result in results] == [[], [third]]


def test_a_claim_number_and_a_title_are_of_one_task(bn, three):
    assert "--fence" in bn.fails("task", "done", *three, "--fence", "1", code=2)["message"]
    assert "title" in bn.fails("task", "update", *three, "--title", "Same", code=2)["message"]


def test_people_see_every_task_of_several(bn, three):
    shown = bn.human("task", "show", *three)
    assert all(title in shown for title in ("Design the table", "Write the endpoint", "Test it all"))
    assert bn("task", "show", *three)["results"][1]["task"]["title"] == "Write the endpoint"
    done = bn.human("task", "done", *three)
    assert done.count("● done") == 3


def test_several_titles_share_the_options_and_are_counted(bn):
    said = bn.human("task", "add", "Write it down", "Read it out", "-p", "high", "+paper")
    assert "2 tasks added" in said
    assert [(task["priority"], task["tags"]) for task in bn("task", "list")["tasks"]] == [(1, ["paper"])] * 2


def test_a_title_without_quotes_is_not_taken_for_several_tasks(bn):
    error = bn.fails("task", "add", "Fix", "the", "login", code=2)
    assert "'Fix the login'" in error["message"]
    assert "bn task add 'Fix the login'" in error["hint"]
    assert bn("task", "list")["total"] == 0
    assert len(bn("task", "add", "--each", "Login", "Logout")["tasks"]) == 2


def test_one_bad_title_among_several_adds_none(bn):
    bn.add("Write it")
    assert bn.fails("task", "add", "Read it", "write it")["code"] == "E_DUPLICATE"
    assert bn("task", "list")["total"] == 1


def tags(bn, task):
    return bn("task", "show", task)["task"].get("tags", [])


def test_tags_are_added_and_taken_away_as_words(bn):
    task = bn.add("One", "+login", "+urgent")
    assert tags(bn, task) == ["login", "urgent"]
    bn("task", "update", task, "+later", "-urgent")
    assert tags(bn, task) == ["login", "later"]
    bn("task", "update", "-login", task, "+Later")
    assert tags(bn, task) == ["later"]
    bn("task", "update", task, "-t", "new", "+more")
    assert tags(bn, task) == ["new", "more"]


def test_tags_change_on_several_tasks_each_with_its_own(bn):
    first, second = bn.add("One", "+left"), bn.add("Two", "+up")
    bn("task", "update", first, second, "+shared", "-left")
    assert (tags(bn, first), tags(bn, second)) == (["shared"], ["up", "shared"])


def test_a_tag_that_is_not_there_is_a_warning(bn):
    task = bn.add("One", "+login")
    assert bn("task", "update", task, "-lgoin", "-p", "1")["warnings"] == [f"{task} has no tag 'lgoin'"]


def test_what_may_be_an_option_is_a_tag_only_if_the_task_has_it(bn):
    task, other = bn.add("One", "+done", "-d", "text"), bn.add("Two", "+done", "+phigh")
    bn("task", "update", task, "-done")
    assert tags(bn, task) == []
    for words, option in (
        ([task, "-done"], "-d one"),
        ([other, task, "-done"], "-d one"),
        ([task, "-phigh"], "-p high"),
    ):
        error = bn.fails("task", "update", *words, code=2)
        assert option in error["hint"]
        assert f"--remove-tag {words[-1][1:]}" in error["hint"]
    shown = bn("task", "show", task)["task"]
    assert (shown["description"], shown["priority"]) == ("text", 2)
    assert tags(bn, other) == ["done", "phigh"]


def test_options_stay_options_beside_tags(bn):
    task = bn.add("One", "-p1", "+a")
    bn("task", "update", task, "-p0", "-d", "+not-a-tag", "--hints", "+neither")
    shown = bn("task", "show", task)["task"]
    assert (shown["priority"], shown["description"], shown["hints"], shown["tags"]) == (
        0,
        "+not-a-tag",
        "+neither",
        ["a"],
    )
    plus = bn("task", "add", "--", "+1")["tasks"][0]
    assert (plus["title"], plus.get("tags")) == ("+1", None)
    assert bn.add("+1 for the new form")


LISTS = {
    "task list": "tasks",
    "ready": "tasks",
    "blocked": "tasks",
    "log": "events",
    "search stone": "hits",
    "note list": "notes",
    "progress list": "progress",
}


@pytest.fixture
def many(bn):
    """More of everything than any command shows by itself."""
    first = bn.add("The first stone")
    bn("task", "add", "--from", "-", stdin=str([{"title": f"stone {n}"} for n in range(120)]).replace("'", '"'))
    waiting = [{"title": f"waiting {n}", "depends_on": [first]} for n in range(25)]
    bn("task", "add", "--from", "-", stdin=str(waiting).replace("'", '"'))
    return bn


def test_no_limit_is_zero_everywhere(many):
    for words, name in LISTS.items():
        if name in ("notes", "progress"):
            many(words.split()[0], "add", "one")
            many(words.split()[0], "add", "two")
        everything = many(*words.split(), "-n", "0")[name]
        assert len(everything) > 1
        assert len(many(*words.split(), "-n", "1")[name]) == 1
        assert len(many(*words.split(), "-n", "100000")[name]) == len(everything)
    assert len(many("task", "list", "-n", "0")["tasks"]) == 146
    assert many("session", "list", "-n", "0") == {"sessions": []}
    assert many("ask", "list", "-n", "0")["questions"] == []


def test_a_negative_or_senseless_limit_is_refused_everywhere(bn):
    for words in (*LISTS, "session list", "ask list"):
        assert "negative" in bn.fails(*words.split(), "-n", "-1", code=2)["message"]
        assert "not a number" in bn.fails(*words.split(), "-n", "many", code=2)["message"]


def test_pages_follow_each_other_without_gap_or_repetition(many):
    pages = [many("task", "list", "-n", "50", "--offset", str(start)) for start in (0, 50, 100, 150)]
    found = [task["id"] for page in pages for task in page["tasks"]]
    assert found == [task["id"] for task in many("task", "list", "-n", "0")["tasks"]]
    assert {page["total"] for page in pages} == {146}


def test_people_are_told_how_many_are_left(many):
    assert "96 more; -n 0 shows all" in many.human("task", "list", "-n", "50")
    assert "46 more" in many.human("task", "list", "-n", "50", "--offset", "50")
    assert "more" not in many.human("task", "list", "-n", "50", "--offset", "96")
    assert "there are 146" in many.human("task", "list", "--offset", "500")
    assert "more" not in many.human("task", "list", "-n", "0")


def test_what_exists_is_left_out_and_named_if_the_caller_wants_that(bn):
    known = bn("task", "add", "Write the tests")["tasks"][0]["id"]
    added = bn("task", "add", "Write tests", "Ship it", "--skip-duplicates")
    assert [task["title"] for task in added["tasks"]] == ["Ship it"]
    assert added["skipped"] == [{"title": "Write tests", "existing": known, "existing_title": "Write the tests"}]
    shown = bn.run("task", "add", "write tests", "--skip-duplicates", "-H").out
    assert shown == f"skipped 'write tests': {known} exists, 'Write the tests'\n"


def test_a_task_says_which_requirements_it_covers(bn):
    made = bn("task", "add", "One", "--covers", "R1", "--covers", "R12")["tasks"][0]["id"]
    assert bn("task", "show", made)["task"]["covers"] == ["R1", "R12"]
    assert "R1, R12" in bn.run("task", "show", made, "-H").out
    bn("task", "update", made, "--covers", "R7")
    assert bn("task", "show", made)["task"]["covers"] == ["R7"]
    bn("task", "update", made, "--covers", "")
    assert "covers" not in bn("task", "show", made)["task"]
