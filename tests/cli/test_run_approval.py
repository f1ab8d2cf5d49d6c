"""What a person sees and presses when an agent asks for permission: on terminals of every size, whatever it sends."""

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import forked_bn
from cli.run_terminal import BN, RunTerminal
from cli.test_hostile_text import HOSTILE
from runner.repositories import Repository

PLAYER = Path(__file__).parents[1] / "runner" / "player.py"

ONLY_SAID = 3
"""The exit code of a run whose work is done and not proven."""

LONG = "\n".join(f"line {number} of the file, with some words to wrap" for number in range(1, 201)) + "\n"


@pytest.fixture
def repo(tmp_path, monkeypatch) -> Repository:
    for name, value in {
        "HOME": str(tmp_path),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "BN_DATA_DIR": str(tmp_path / "data"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "GIT_CONFIG_NOSYSTEM": "1",
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("BN_AGENT_ID", raising=False)
    made = Repository.new(tmp_path / "repo", {"readme.md": "hello\n"})
    forked_bn.run([BN, "task", "add", "Write it"], cwd=made.path, timeout=60)
    return made


def ask_on_terminal(repo: Repository, *asks: dict, columns: int, rows: int = 24) -> RunTerminal:
    """A run whose agent asks for permissions, one after the other, and then is done."""
    script, kept = repo.path.parent / "script.py", repo.path.parent / "kept"
    given = [{"given": None, **ask} for ask in asks]
    for ask in given:
        if "diff" in ask:
            ask["content"] = [{"type": "diff", **ask.pop("diff")}]
    calls = "".join(f"agent.keep('may', str(agent.may(**{ask!r})))\n" for ask in given)
    script.write_text(f"{calls}agent.done()\n")
    agent = shlex.join([sys.executable, str(PLAYER), str(script), str(kept)])
    return RunTerminal(repo, "--agent", agent, "--approve", "ask", columns=columns, rows=rows)


def answers(repo: Repository) -> list[str]:
    return [path.read_text() for path in sorted((repo.path.parent / "kept").glob("may-[0-9]*"))]


def has_keys(rows: list[str]) -> bool:
    shown = " ".join(" ".join(rows).split())
    return all(key in shown for key in ("y yes", "n no", "a always"))


EDIT = {"title": "Edit cart.py", "kind": "edit", "given": {"path": "cart.py"}}
DIFF = {"path": "cart.py", "oldText": "total = 1\n", "newText": "total = 2\nrest = 0\n"}


@pytest.mark.parametrize("columns", [100, 60, 30])
def test_a_change_is_shown_as_a_diff_with_every_key(repo, columns):
    terminal = ask_on_terminal(repo, {**EDIT, "diff": DIFF}, columns=columns)
    rows = terminal.wait_until(has_keys)
    assert [row for row in rows if row.startswith(" │")] == [
        " │ --- cart.py", " │ +++ cart.py", " │ @@ -1 +1,2 @@", " │ -total = 1", " │ +total = 2", " │ +rest = 0",
    ]  # fmt: skip
    assert "may the agent do this?" in " ".join(" ".join(rows).split())
    terminal.press("y")
    assert terminal.end() == ONLY_SAID
    assert answers(repo) == ["True"]


@pytest.mark.parametrize("columns", [60, 30])
def test_a_long_command_is_shown_to_its_last_word(repo, columns):
    words = [f"word{number}" for number in range(40)]
    command = f"make {' '.join(words)} last"
    terminal = ask_on_terminal(repo, {"title": command, "given": {"command": command}}, columns=columns)
    rows = terminal.wait_until(has_keys)
    shown = " ".join(row.removeprefix(" │").strip() for row in rows if row.startswith(" │"))
    assert shown == f"$ {command}"
    terminal.press("n")
    terminal.wait_for("refused (person)")
    terminal.end()
    assert answers(repo) == ["False"]


def test_what_is_larger_than_the_screen_is_cut_with_a_notice_and_a_key_shows_all(repo):
    change = {"path": "big.txt", "oldText": None, "newText": LONG}
    terminal = ask_on_terminal(repo, {**EDIT, "diff": change}, columns=60, rows=20)
    rows = terminal.wait_until(has_keys)
    assert "line 200" not in terminal.shown
    assert any("… 203 lines in all" in row for row in rows)
    assert any("v shows all" in row for row in rows)
    terminal.press("v")
    terminal.wait_for("line 200")
    rows = terminal.wait_until(has_keys)
    assert "\n".join(terminal.emulated.shown()).count("line 100 of") == 1
    terminal.press("y")
    assert terminal.end() == ONLY_SAID


def test_always_answers_the_same_command_once_for_the_run(repo):
    command = {"title": "make test", "given": {"command": "make test"}}
    terminal = ask_on_terminal(repo, command, command, {"title": "rm x", "given": {"command": "rm x"}}, columns=60)
    terminal.wait_until(has_keys)
    terminal.press("a")
    terminal.wait_for("allowed (person, always)")
    terminal.wait_for("$ rm x")
    terminal.press("n")
    assert terminal.end() == ONLY_SAID
    assert answers(repo) == ["True", "True", "False"]


def is_drawn_for(columns: int) -> Callable[[list[str]], bool]:
    """Whether one footer can be seen, made for so many columns."""
    rule = "─" * (columns - 1)
    return lambda rows: [row for row in rows if row.startswith("───")] == [rule] and has_keys(rows)


@pytest.mark.parametrize("sizes", [[(60, 24), (30, 24), (100, 24)], [(41, 24), (120, 50), (60, 10)]])
def test_a_resized_window_has_one_question_and_nothing_of_the_old_one(repo, sizes):
    terminal = ask_on_terminal(repo, {**EDIT, "diff": DIFF}, columns=100)
    terminal.wait_until(is_drawn_for(100))
    for columns, rows in sizes:
        terminal.resize(columns, rows)
        shown = "\n".join(terminal.wait_until(is_drawn_for(columns)))
        assert (shown.count("y yes"), shown.count("may the agent")) == (1, 1)
        assert shown.count("+rest = 0") == (0 if rows == 10 else 1)
    assert "\n".join(terminal.emulated.shown()).count("is at work") == 1, "what is above the footer stays"
    terminal.press("y")
    assert terminal.end() == ONLY_SAID
    assert "y yes" not in terminal.screen()


@pytest.mark.parametrize("columns", [60, 30])
def test_wide_characters_stay_inside_the_window(repo, columns):
    change = {"path": "漢字.txt", "oldText": "漢字\n" * 3, "newText": "仮名" * 60 + "\n"}
    terminal = ask_on_terminal(repo, {"title": "書く " * 30, "kind": "edit", "diff": change}, columns=columns, rows=70)
    terminal.wait_until(has_keys)
    shown = "".join(terminal.emulated.shown())
    assert (shown.count("仮"), shown.count("名")) == (60, 60)
    terminal.resize(columns - 7, 70)
    terminal.wait_until(is_drawn_for(columns - 7))
    assert "\n".join(terminal.emulated.shown()).count("y yes") == 1
    terminal.press("y")
    assert terminal.end() == ONLY_SAID


def test_hostile_text_reaches_no_terminal(repo):
    change = {"path": f"a{HOSTILE}", "oldText": HOSTILE, "newText": f"new {HOSTILE}"}
    asks = [
        {"title": HOSTILE, "kind": "edit", "diff": change},
        {"title": f"run {HOSTILE}", "given": {"command": f"echo {HOSTILE}"}},
        {"title": "fetch", "kind": "fetch", "given": {HOSTILE: HOSTILE}},
    ]
    terminal = ask_on_terminal(repo, *asks, columns=60)
    for shown in ("+new", "$ echo", "evil"):
        terminal.wait_for(shown)
        terminal.wait_until(has_keys)  # the emulated terminal fails at what it does not know
        terminal.press("y")
        terminal.wait_for("allowed (person)")
    assert terminal.end() == ONLY_SAID
    for character in ("\x07", "\x9b", "\x7f", "\u202e", "\u2066", "\u200b"):
        assert character not in terminal.shown


def test_a_run_can_be_stopped_while_it_asks(repo):
    terminal = ask_on_terminal(repo, EDIT, columns=60)
    terminal.wait_until(has_keys)
    terminal.press("s")
    assert terminal.end() == 130
    assert "True" not in answers(repo)
