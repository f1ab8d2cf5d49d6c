"""`bn review` in front of a person: their editor, their pager and their tool for differences, each a real program."""

import os
from pathlib import Path

import pytest

from cli.reviewing import put_up, repo, reviewed
from cli.terminal import run_on_terminal

__all__ = ["repo", "reviewed"]


@pytest.fixture
def program(tmp_path):
    """Writes a program and returns its path."""

    def write(name: str, text: str) -> str:
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return str(path)

    return write


@pytest.fixture
def git_settings(tmp_path):
    """The person's own configuration of git, as a file."""

    def write(text: str) -> dict[str, str]:
        (tmp_path / "person.gitconfig").write_text(text)
        return {"GIT_CONFIG_GLOBAL": str(tmp_path / "person.gitconfig")}

    return write


def test_a_comment_is_written_in_the_editor_above_the_code_that_it_is_about(reviewed, repo, program):
    task, _ = put_up(reviewed, repo)
    script = 'cp "$1" "$1.seen"; cp "$1" "$(dirname "$0")/seen"; { echo "Say why."; cat "$1.seen"; } > "$1"'
    editor = program("editor", script)
    shown = run_on_terminal(reviewed, "review", "comment", task, "work.txt:1", env={"EDITOR": editor, "VISUAL": ""})
    assert shown.code == 0, shown.screen
    seen = Path(editor).with_name("seen").read_text()
    assert "work.txt, line 1" in seen
    assert "> " in seen
    assert "good" in seen
    (one,) = reviewed("review", "show", task)["remarks"]
    assert (one["state"], one["place"], one["body"]) == ("draft", "work.txt:1", "Say why.")


def test_what_is_left_empty_in_the_editor_is_no_comment(reviewed, repo, program):
    task, _ = put_up(reviewed, repo)
    shown = run_on_terminal(reviewed, "review", "comment", task, env={"VISUAL": program("editor", "exit 0")})
    assert shown.code != 0
    assert "nothing was written" in shown.screen
    failed = run_on_terminal(reviewed, "review", "comment", task, env={"VISUAL": program("broken", "exit 3")})
    assert "ended with 3, so nothing was kept" in failed.screen
    assert not reviewed("review", "show", task).get("remarks")


def test_a_long_change_is_shown_in_the_pager_unless_it_is_not_wanted(reviewed, repo, program, git_settings):
    task, _ = put_up(reviewed, repo)
    pager = program("pager", 'echo "PAGED"; cat')
    env = {"PAGER": pager, **git_settings("")}
    paged = run_on_terminal(reviewed, "review", "show", task, env=env)
    assert paged.screen.index("PAGED") < paged.screen.index("the work")
    assert "PAGED" not in run_on_terminal(reviewed, "review", "show", task, "--no-pager", env=env).screen
    assert "PAGED" not in run_on_terminal(reviewed, "review", "show", task, env={**env, "BN_PAGER": "cat"}).screen


def test_a_change_is_looked_at_with_the_person_s_difftool_and_not_with_that_of_the_repository(
    reviewed, repo, program, git_settings
):
    task, _ = put_up(reviewed, repo)
    mine, theirs = program("mine", 'echo "MINE"; diff "$1" "$2"'), program("theirs", "touch stolen")
    repo.git("config", "diff.tool", "evil")
    repo.git("config", "difftool.evil.cmd", theirs)
    repo.git("config", "difftool.mine.cmd", theirs)
    settings = f'[diff]\n\ttool = mine\n[difftool "mine"]\n\tcmd = {mine} "$LOCAL" "$REMOTE"\n'
    shown = run_on_terminal(reviewed, "review", "show", task, "--tool", env=git_settings(settings))
    assert "MINE" in shown.screen, shown.screen
    assert "< bad\n---\n> good" in shown.screen
    assert not [name for name in os.listdir(reviewed.repo) if name == "stolen"]
