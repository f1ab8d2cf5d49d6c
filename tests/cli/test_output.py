"""What programs and people get to read."""

import json
import subprocess

import pytest

from cli.terminal import run_on_terminal


def on_a_terminal(bn, *words: str, **options) -> str:
    """What a person sees of a run that must succeed."""
    shown = run_on_terminal(bn, *words, **options)
    assert shown.code == 0, shown
    return shown.screen


def test_the_version(bn):
    from binnacle import __version__

    assert bn.run("--version").out == f"bn {__version__}\n"


def test_people_get_tables_on_a_terminal_and_programs_get_json(bn):
    task = bn.add("One")
    assert json.loads(bn.run("ready").out)["tasks"][0]["id"] == task
    assert bn.run("ready").out.count("\n") == 1
    shown = on_a_terminal(bn, "ready")
    assert shown.startswith("\x1b[1mID")
    assert task in shown
    assert "{" not in shown


def test_json_is_indented_on_a_terminal(bn):
    bn.add("One")
    for words in (["ready", "--json"], ["--json", "ready"]):
        shown = on_a_terminal(bn, *words)
        assert shown.startswith("{\n  ")
        assert json.loads(shown) == bn("ready")


def test_the_last_word_on_the_form_counts(bn):
    bn.add("One")
    assert bn.run("--json", "ready", "-H").out == bn.human("ready")
    assert bn.run("-H", "ready", "--json").out == bn.run("ready").out
    assert bn.run("ready", "-H", "--json").json["total"] == 1


def test_each_stream_decides_for_itself(bn):
    answered = run_on_terminal(bn, "ready", piped=("stdout",))
    assert json.loads(answered.out) == {"tasks": [], "total": 0}
    failed = run_on_terminal(bn, "task", "show", "bn-000", piped=("stdout",))
    assert (failed.code, failed.out) == (1, "")
    assert "error:" in failed.screen.splitlines()[0], "the person at the terminal reads it, not the program in the pipe"
    logged = run_on_terminal(bn, "task", "show", "bn-000", piped=("stderr",))
    assert json.loads(logged.err)["error"]["code"] == "E_NOT_FOUND"
    assert logged.screen == ""


@pytest.mark.parametrize("words", [["taks"], ["task", "lits"], ["ready", "--nope"], ["task", "show", "bn-000"]])
def test_errors_are_sentences_on_a_terminal(bn, words):
    shown = run_on_terminal(bn, *words, env={"NO_COLOR": "1"})
    assert shown.code in (1, 2)
    assert shown.screen.startswith("error: ")
    assert "\nhint: " in shown.screen
    forced = run_on_terminal(bn, *words, "--json")
    assert json.loads(forced.screen)["error"]["hint"]


def test_a_person_can_choose_one_form_for_good(bn, tmp_path):
    task = bn.add("One")
    written = bn("config", "set", "output", "human")
    assert written["file"].startswith(str(tmp_path / "config")), "in their own file, not in the project's"
    assert bn.run("ready").out.startswith("ID")
    assert bn.run("task", "show", "bn-000").err.startswith("error: ")
    assert bn.run("ready", "--json").json["tasks"][0]["id"] == task
    assert bn.run("ready", env={"BN_OUTPUT": "json"}).json["total"] == 1
    bn.run("config", "set", "output", "json")
    assert json.loads(on_a_terminal(bn, "ready"))["total"] == 1
    assert on_a_terminal(bn, "ready", "-H").startswith("\x1b[1mID")
    bn("config", "unset", "output")
    assert bn("config", "get", "output") == {"key": "output", "value": "auto", "from": "default"}


def test_what_a_person_chose_is_not_for_their_agents(bn):
    bn("config", "set", "output", "human")
    assert bn.run("ready").out.startswith("nothing is ready")
    agent = bn.agent("somebody")
    assert bn.run("ready", env=agent).out.startswith("{")
    assert bn.run("ready", env={**agent, "BN_OUTPUT": "human"}).out.startswith("nothing is ready")


def test_the_form_holds_outside_of_a_project_too(bn):
    bn("config", "set", "output", "human")
    assert bn.run("-C", "/nowhere", "ready").err.startswith("error: ")


def test_a_mistake_in_the_setting_is_said_and_can_be_repaired(bn):
    for env in ({"BN_OUTPUT": "table"}, {}):
        if not env:
            bn.env["XDG_CONFIG_HOME"] = str(bn.repo / "mine")
            (bn.repo / "mine" / "binnacle").mkdir(parents=True)
            (bn.repo / "mine" / "binnacle" / "config.toml").write_text('output = "table"\n[store]\ntimeout = 3\n')
        error = bn.fails("ready", env=env)
        assert error["code"] == "E_CONFIG"
        assert "output takes auto, human or json, not 'table'" in error["message"]
    bn("config", "set", "output", "json")
    assert bn("ready")["total"] == 0
    assert (bn.repo / "mine" / "binnacle" / "config.toml").read_text() == 'output = "json"\n[store]\ntimeout = 3\n'


def test_a_project_cannot_choose_the_form_for_everybody(bn):
    (bn.repo / ".binnacle").mkdir()
    (bn.repo / ".binnacle" / "config.toml").write_text('output = "human"\n')
    assert bn("ready")["total"] == 0, "and a clone that tries breaks no command"
    (told,) = [one for one in bn("config", "list")["settings"] if "ignored" in one]
    assert (told["key"], told["value"], told["ignored"]) == ("output", "auto", "human")
    assert "output = human is ignored" in bn.human("config", "list")


def test_colour_only_on_a_terminal(bn):
    bn.add("One", "--status", "blocked")
    assert "\x1b[" in on_a_terminal(bn, "task", "list", "-H")
    assert "\x1b[" not in bn.human("task", "list")
    bn.env["NO_COLOR"] = "1"
    # NO_COLOR is taken out by the helper; a dumb terminal says the same
    assert "\x1b[" not in bn.run("task", "list", "-H", env={"TERM": "dumb"}).out


def test_a_table_fits_the_terminal(bn):
    bn.add("a title much longer than forty columns will ever be able to hold in one line")
    bn.add("日本語のとても長い題名はふたつの桁をとる文字でできている、だから幅を数えなければならない")
    shown = on_a_terminal(bn, "ready", "-H", columns=60)
    from binnacle.cli.screen import width_of

    plain = [line.replace("\x1b[1m", "").replace("\x1b[0m", "") for line in shown.splitlines()]
    assert max(width_of(line) for line in plain) <= 60
    assert "…" in shown


def test_a_terminal_that_does_not_know_its_width_has_eighty_columns(bn):
    bn.add("a title much longer than forty columns will ever be able to hold")
    assert max(map(len, on_a_terminal(bn, "ready", columns=0, env={"NO_COLOR": "1"}).splitlines())) in range(70, 81)


def test_bn_alone_shows_the_state_of_the_project(bn):
    one, two = bn.add("One"), bn.add("Two")
    bn.add("Three", "--after", two)
    bn("task", "start", one)
    answer = bn()
    assert answer["overview"]["tasks"] == 3
    assert [task["id"] for task in answer["in_progress"]] == [one]
    assert [task["id"] for task in answer["ready"]] == [two]
    shown = bn.run("-H").out
    for text in ("repo", "0/3 done", "In progress", "Ready", "Blocked"):
        assert text in shown


def test_stats_count_everything(bn):
    bn("feature", "add", "auth")
    bn.add("One", "-f", "auth", "-p", "0")
    stats = bn("stats")
    assert stats["open_by_priority"] == {"critical": 1}
    assert stats["features"] == [{"feature": "auth", "open": 1, "done": 0, "proof": {}}]
    assert "critical 1" in bn.human("stats")


def test_options_stand_before_or_after_the_command(bn, tmp_path):
    bn.add("One")
    elsewhere = tmp_path
    for words in (["-C", str(bn.repo), "ready"], ["ready", "-C", str(bn.repo)], [f"--repo={bn.repo}", "ready"]):
        assert bn.run(*words, cwd=elsewhere).json["total"] == 1
    assert bn.run("-H", "ready").out == bn.human("ready")
    assert bn.run("ready", env={"BN_REPO": str(bn.repo)}, cwd=elsewhere).json["total"] == 1


def test_a_worktree_shares_the_store_and_git_clean_leaves_it(bn, tmp_path):
    git = ["git", "-C", str(bn.repo), "-c", "user.name=t", "-c", "user.email=t@t"]
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "x"], check=True, timeout=60)
    subprocess.run([*git, "worktree", "add", "--quiet", str(tmp_path / "tree")], check=True, timeout=60)
    task = bn.add("One")
    subprocess.run([*git, "clean", "-fdxq"], check=True, timeout=60)
    assert bn.run("ready", cwd=tmp_path / "tree").json["tasks"][0]["id"] == task


def test_reading_creates_nothing(bn, tmp_path):
    for words in (
        ["ready"],
        [],
        ["task", "list"],
        ["stats"],
        ["log"],
        ["doctor"],
        ["store", "show"],
        ["config", "list"],
    ):
        bn.run(*words)
    assert not (tmp_path / "data").exists()
    assert not (bn.repo / ".binnacle").exists()


def test_text_that_begins_with_a_dash_comes_after_two(bn):
    assert bn("task", "add", "--", "--help is missing")["tasks"][0]["title"] == "--help is missing"


def test_graphs_are_drawn_for_pages(bn):
    one = bn.add('Say "hello"; [x] | {y}')
    two = bn.add("Two", "--after", one)
    mermaid = bn.run("graph", "--format", "mermaid").out
    assert f"{one.replace('-', '_')} --> {two.replace('-', '_')}" in mermaid
    assert '"hello"' not in mermaid
    dot = bn.run("graph", "--format", "dot").out
    assert f'"{one}" -> "{two}";' in dot
    assert '\\"hello\\"' in dot
    assert bn.run("graph", "--format", "tree").out == bn.human("graph")
    assert bn("graph", two)["edges"] == [[two, one]]
