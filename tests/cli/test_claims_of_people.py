"""People have names, and what one of them works on another does not change by accident."""

import subprocess

import pytest

from cli.conftest import Bn

BOB = {"BN_USER": "bob"}


def test_what_a_person_holds_another_changes_only_by_force(bn):
    one, two = bn.add("One"), bn.add("Two")
    bn("feature", "add", "auth", "-d", "Login")
    bn("task", "start", one)
    for words in (
        ["task", "done", one],
        ["task", "release", one],
        ["task", "update", one, "--title", "Other"],
        ["task", "skip", one, "--reason", "no"],
        ["task", "block", one, "--reason", "no"],
        ["task", "reopen", one],
        ["task", "delete", one],
        ["task", "start", one],
        ["task", "split", one, "A", "B"],
        ["task", "move", one, "--to", "auth"],
        ["task", "dep", "add", one, two],
    ):
        error = bn.fails(*words, env=BOB)
        assert (error["code"], error["message"]) == ("E_CLAIMED", f"{one} is held by ann"), words
        assert "--force" in error["hint"], words
    assert bn("task", "comment", one, "hello", env=BOB)
    done = bn("task", "done", one, "--force", env=BOB)
    assert done["warnings"] == [f"{one} was held by ann"]


@pytest.mark.parametrize(
    "words",
    [["task", "split", "ID", "A", "B"], ["task", "move", "ID", "--to", "auth"], ["task", "dep", "add", "ID", "ON"]],
)
def test_force_is_there_for_every_change(bn, words):
    ids = {"ID": bn.add("One"), "ON": bn.add("Two")}
    bn("feature", "add", "auth", "-d", "Login")
    bn("task", "start", ids["ID"])
    change = [ids.get(word, word) for word in words]
    assert bn.fails(*change, env=BOB)["code"] == "E_CLAIMED"
    bn(*change, "--force", env=BOB)
    assert bn("log", "--of", ids["ID"])["events"][-1]["actor"] == "bob"


def test_a_person_takes_over_by_force_and_is_told_from_whom(bn):
    one = bn.add("One")
    bn("task", "start", one)
    taken = bn("task", "start", one, "--force", env=BOB)
    assert taken["task"]["claimed_by"] == "bob"
    assert taken["warnings"] == [f"{one} was held by ann"]
    assert "warning" not in bn.human("task", "done", one, env=BOB)


def test_a_person_may_change_what_an_agent_holds_and_is_told_whose_it_was(bn):
    one = bn.add("One")
    bn("task", "start", one, env=bn.agent("bob"))
    assert bn("task", "done", one)["warnings"] == [f"{one} was held by {bn.agent('bob')['BN_AGENT_ID']}"]


def who(bn: Bn, *unset: str, **env: str) -> str:
    kept = {name: value for name, value in bn.env.items() if name not in ("BN_USER", "USER", "LOGNAME", *unset)}
    return Bn(bn.repo, kept | {"GIT_CONFIG_NOSYSTEM": "1"} | env)("store", "show")["person"]


def test_the_name_is_that_of_bn_user_then_of_git_then_of_the_system(bn, tmp_path):
    import os
    import pwd

    assert who(bn) == pwd.getpwuid(os.geteuid()).pw_name
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = Ann Other # me\n")
    assert who(bn) == "Ann Other"
    (tmp_path / ".gitconfig").write_text('[include]\n\tpath = more\n[User]\n\tname = "Ann; Other"\n')
    (tmp_path / "more").write_text("[user]\nemail=ann@home.example\n")
    assert who(bn) == "ann@home.example"
    subprocess.run(["git", "config", "user.email", "ann@work.example"], cwd=bn.repo, check=True, timeout=60)
    assert who(bn) == "ann@work.example"
    assert who(bn, BN_USER="carol") == "carol"


def test_git_files_named_by_the_environment_are_read(bn, tmp_path):
    other = tmp_path / "other"
    other.write_text("[user]\n\temail = dan@example.com\n")
    assert who(bn, GIT_CONFIG_GLOBAL=str(other)) == "dan@example.com"
    folder = tmp_path / "config" / "git"
    folder.mkdir(parents=True)
    (folder / "config").write_text("[user]\n\temail = eve@example.com\n")
    assert who(bn) == "eve@example.com"


def test_a_name_is_one_line_of_text(bn):
    assert who(bn, BN_USER="  Ann\n\x1b[31m Other ") == "Ann [31m Other"
