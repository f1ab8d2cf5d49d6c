"""Mistakes: every one gets a message and a next step, and changes nothing."""

import subprocess

import pytest

from cli.conftest import BN

BIDI, ESCAPE, NUL_LIKE = "\u202e", "\x1b[2J\x1b[31m", "\x07\x08"


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (["taks"], 2, "task"),
        (["task", "lits"], 2, "list"),
        (["task"], 2, "add"),
        (["task", "add"], 2, "bn task add"),
        (["task", "show"], 2, "--help"),
        (["ready", "--nope"], 2, "--help"),
        (["ready", "-n", "many"], 2, "--help"),
        (["--nope", "ready"], 2, "--help"),
        (["-C"], 2, "bn -C"),
        (["graph", "--format", "png"], 2, "--help"),
        (["task", "show", "bn-000"], 1, "bn task list"),
        (["task", "show", "xyz"], 1, "bn-1f3a"),
        (["task", "list", "--status", "pendign"], 1, "pending"),
        (["task", "list", "-p", "5"], 1, "critical"),
        (["task", "list", "-k", "bugg"], 1, "bug"),
        (["task", "add", "x", "-f", "nope"], 1, "bn feature add"),
        (["task", "add", "   "], 1, "visible"),
        (["task", "add", "x" * 301], 1, "shorten"),
        (["task", "add", "x", "--file", "/etc/passwd"], 1, "relative"),
        (["task", "add", "x", "--file", "../up"], 1, "relative"),
        (["task", "add", "x", "--status", "in_progress"], 1, "start"),
        (["feature", "show", "nope"], 1, "bn feature add"),
        (["feature", "add", "a b/c"], 1, "letters"),
        (["note", "add", "x", "--type", "tpi"], 1, "tip"),
        (["learning", "add", "x" * 501], 1, "shorten"),
        (["config", "get", "store.ulr"], 1, "store.url"),
        (["config", "set", "claim.minutes", "soon"], 1, "claim.minutes"),
        (["log", "--since", "yesterday"], 1, "2026"),
        (["search", "!!!"], 1, "word"),
        (["store", "import", "/nope"], 1, "file"),
        (["store", "clear"], 2, "--yes"),
        (["task", "add", "--from", "/nope"], 1, "stdin"),
    ],
)
def test_a_mistake_says_what_to_do_and_changes_nothing(bn, words, code, hint):
    error = bn.fails(*words, code=code)
    assert error["code"].startswith("E_")
    assert error["message"]
    assert hint in error["hint"]
    assert bn("log")["events"] == []


def test_people_get_the_same_error_in_words(bn):
    done = bn.run("task", "show", "bn-000", "-H")
    assert done.code == 1
    assert done.err.startswith("error: no task 'bn-000'\nhint: ")


def test_an_unknown_id_names_the_nearest_one(bn):
    task = bn.add("One")
    wrong = task[:-1] + ("0" if task[-1] != "0" else "1")
    assert task in bn.fails("task", "show", wrong)["hint"]


def test_an_unknown_feature_names_the_nearest_one(bn):
    bn("feature", "add", "billing")
    assert "'billing'" in bn.fails("task", "add", "x", "-f", "biling")["hint"]


def test_a_repeated_title_names_the_task_that_has_it(bn):
    task = bn.add("Write the tests")
    error = bn.fails("task", "add", "  write THE   tests ")
    assert error["code"] == "E_DUPLICATE"
    assert error["details"]["existing"] == task


@pytest.mark.parametrize("evil", [BIDI, ESCAPE, NUL_LIKE, "\r", "\x9b31m", "\udcff"])
def test_control_characters_never_reach_the_terminal(bn, evil):
    task = bn.add(f"before{evil}after", "-d", f"one{evil}\ntwo")
    for output in (bn.human("task", "show", task), bn.human("ready"), bn.run("task", "show", task).out):
        assert not any(c in output for c in (BIDI, "\x1b", "\x07", "\x08", "\r", "\x9b", "\udcff"))
    assert bn("task", "show", task)["task"]["description"].endswith("two")


def test_a_very_long_title_is_cut_on_the_screen_and_whole_in_json(bn):
    title = "wörd " * 59
    bn.add(title.strip())
    assert max(len(line) for line in bn.human("ready").splitlines()) <= 120
    assert bn("ready")["tasks"][0]["title"] == title.strip()


def test_an_unexpected_failure_is_still_an_answer(bn):
    (bn.repo / ".binnacle").mkdir()
    (bn.repo / ".binnacle" / "config.toml").write_text("[store\n")
    error = bn.fails("ready")
    assert error["code"] == "E_CONFIG"
    assert "config.toml" in error["message"]


def test_a_reader_that_leaves_early_is_no_error(bn):
    bn("task", "add", "--from", "-", stdin="[" + ",".join(f'{{"title": "task {i}"}}' for i in range(500)) + "]")
    script = f"{BN} task list -n 500 -H | head -n 1; echo ${{PIPESTATUS[0]}}"
    piped = subprocess.run(
        ["bash", "-c", script], cwd=bn.repo, env=bn.env, capture_output=True, text=True, timeout=60, check=True
    )
    assert piped.stdout.splitlines()[-1] == "0"
    assert piped.stderr == ""


def test_an_answer_for_which_the_disk_has_no_space_is_an_error_and_no_traceback(bn):
    bn.add("One")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [BN, "ready"], cwd=bn.repo, env=bn.env, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert done.returncode == 1
    assert b'"code":"E_STORE_FULL"' in done.stderr
    assert b"Traceback" not in done.stderr
