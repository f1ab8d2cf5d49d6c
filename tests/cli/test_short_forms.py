"""The short forms of the commands of every day, and what people type who expect another word."""

import pytest

from binnacle.cli.command_index import GROUPS, SHORT_FORMS, TOPICS
from binnacle.cli.parser import expand, find_command, load_group
from binnacle.cli.suggestions import MEANT, SAME_SENSE


def test_a_day_of_work_in_short_forms(bn):
    task = bn("add", "Mend the login form", "-p", "high")["tasks"][0]["id"]
    assert [one["id"] for one in bn("list")["tasks"]] == [task]
    assert bn("edit", task, "--title", "Repair the login form")["task"]["title"] == "Repair the login form"
    assert bn("start", task)["task"]["status"] == "in_progress"
    assert bn("comment", task, "nearly there")["comment"]["task_id"] == task
    assert bn("show", task)["task"]["title"] == "Repair the login form"
    assert bn("release", task)["task"]["status"] == "pending"
    assert bn("block", task, "-m", "no server")["task"]["status"] == "blocked"
    assert bn("reopen", task)["task"]["status"] == "pending"
    assert bn("done", task, "-m", "merged")["task"]["status"] == "done"
    other = bn.add("Another")
    assert bn("skip", other, "-m", "not needed")["task"]["status"] == "cancelled"
    assert bn.run("delete", other).code == 0
    assert bn.fails("show", other)["code"] == "E_NOT_FOUND"


def test_options_stand_before_a_short_form_too(bn):
    bn.add("One")
    assert bn.run("-C", str(bn.repo), "-H", "list").out == bn.human("task", "list")


@pytest.mark.parametrize("short", SHORT_FORMS)
def test_a_short_form_is_the_very_command_so_that_its_rights_hold(short):
    group, *words = SHORT_FORMS[short].split()
    expanded = expand([short, "x"])
    found, rest = find_command(load_group(expanded[0]), expanded[1:])
    assert found is load_group(group).commands[" ".join(words)]
    assert rest == ["x"]
    assert short not in GROUPS


@pytest.mark.parametrize("short", SHORT_FORMS)
def test_a_short_form_has_help_and_is_listed(bn, short):
    shown = bn.run(short, "--help").out
    assert shown == bn.run(*SHORT_FORMS[short].split(), "--help").out
    assert f"short form: bn {short}" in shown
    assert short in bn.run("--help").out.partition("Short forms")[2]


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("create", "bn add"),
        ("new", "bn add"),
        ("rm 1f3", "bn delete"),
        ("remove 1f3", "bn delete"),
        ("close 1f3", "bn done"),
        ("finish 1f3", "bn done"),
        ("complete 1f3", "bn done"),
        ("ls", "bn list"),
        ("tasks", "bn list"),
        ("issues", "bn list"),
        ("view 1f3", "bn show"),
        ("update 1f3", "bn edit"),
        ("claim", "bn next --claim"),
        ("resume", "bn run --resume"),
        ("init", "bn system init"),
        ("settings", "bn config"),
        ("history", "bn log"),
        ("find x", "bn search"),
        ("features", "bn feature list"),
        ("hooks", "bn hook list"),
        ("taks", "task"),
        ("dnoe", "done"),
        ("task close 1f3", "bn task done"),
        ("task rm 1f3", "bn task delete"),
        ("task edit 1f3", "bn task update"),
        ("task claim 1f3", "bn task start"),
        ("feature create x", "bn feature add"),
        ("feature ls", "bn feature list"),
        ("queue remove 1f3", "bn queue rm"),
        ("store backup", "export"),
        ("task lits", "list"),
    ],
)
def test_an_unknown_command_leads_to_the_one_that_is_meant(bn, words, meant):
    error = bn.fails(*words.split(), code=2)
    assert error["code"] == "E_USAGE"
    assert meant in error["hint"], error


@pytest.mark.parametrize("meant", sorted({*MEANT.values()} - {"--version"}))
def test_what_is_suggested_is_there(meant):
    name, *words = expand(meant.split())
    command, rest = find_command(load_group(name), words)
    assert command is not None
    options = {option for argument in command.arguments for option in argument.names}
    assert set(rest) <= options


def test_no_word_has_two_senses():
    words = [word for senses in SAME_SENSE for word in senses]
    assert len(words) == len(set(words))
    assert not set(MEANT) & {*GROUPS, *SHORT_FORMS}


def test_help_has_every_command_under_one_topic(bn):
    listed = [name for names in TOPICS.values() for name in names]
    assert sorted(listed) == sorted(GROUPS), "add a new command to TOPICS in cli/command_index.py, under one topic"
    shown = bn.run("--help").out
    places = [shown.index(f"\n{topic}\n") for topic in TOPICS]
    assert places == sorted(places)
    assert shown.index("\nThe work\n") < shown.index("\n  ready ") < shown.index("\nWhat is known\n")


def test_help_is_a_word_too(bn):
    assert bn.run("help").out == bn.run("--help").out
    assert bn.run("help", "task").out == bn.run("task", "--help").out
    assert bn.run("help", "task", "add").out == bn.run("task", "add", "--help").out
    assert bn.run("help", "done").out == bn.run("done", "--help").out
