"""`bn run` on the command line and on a terminal."""

import os
import shlex
import subprocess
from pathlib import Path

import msgspec
import pytest

import forked_bn
from binnacle.cli.run_footer import FooterQuestion, FooterState, elapsed, footer, thousands
from binnacle.cli.screen import width_of
from cli.run_terminal import BN, RunTerminal
from demo_commands import MISBEHAVING_AGENT
from runner.repositories import Repository
from runner.runs import TWO

AGENT = shlex.join(MISBEHAVING_AGENT)


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
    return Repository.new(tmp_path / "repo", {"words.md": TWO})


def bn(repo: Repository, *words: str, **env: str) -> "subprocess.CompletedProcess[str]":
    done = forked_bn.run([BN, *words], cwd=repo.path, env={**os.environ, **env}, timeout=110)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


class TestCommand:
    def test_a_run_from_a_file_to_its_end(self, repo):
        done = bn(repo, "run", "words.md", "--agent", AGENT)
        answer = msgspec.json.decode(done.stdout)
        assert (done.returncode, answer["why"], answer["name"], answer["closed"]) == (3, "unproven", "words", 2)
        assert "iteration 2" in done.stderr
        shown = msgspec.json.decode(bn(repo, "session", "show", "words").stdout)
        assert [one["number"] for one in shown["iterations"]] == [0, 1, 2]
        first = msgspec.json.decode(bn(repo, "session", "transcript", answer["session"], "--iteration", "1").stdout)
        assert {"prompt", "tool", "message", "end"} <= {entry["kind"] for entry in first["entries"]}
        for word in ("list", "show words", "transcript words"):
            assert bn(repo, "session", *word.split(), "-H").stdout
        assert bn(repo, "-H", "run", "--resume", "--agent", AGENT).returncode == 1

    def test_everything_as_json(self, repo):
        done = bn(repo, "run", "words.md", "--agent", AGENT, "--json", "--iterations", "1")
        told = [msgspec.json.decode(line) for line in done.stdout.splitlines()]
        assert (told[0]["event"], told[-1]["event"], told[-1]["why"]) == ("run_started", "run_ended", "budget")
        assert done.returncode == 1

    def test_what_is_left_is_gone_on_with(self, repo):
        bn(repo, "run", "words.md", "--agent", AGENT, "--iterations", "1")
        done = bn(repo, "-H", "run", "--resume", BN_RUN_AGENT=AGENT)
        assert done.returncode == 3, done.stderr
        assert "unproven" in done.stdout

    @pytest.mark.parametrize(
        ("words", "said"),
        [
            ((), "no agent given"),
            (("--agent", "gose"), "did you mean 'goose'?"),
            (("--agent", AGENT, "--budget", "hours=3"), "one of: iterations, minutes, tokens, cost"),
            (("--agent", AGENT, "--workers", "0"), "not a number of workers"),
            (("--agent", AGENT, "--name", "a b"), "not a name for a run"),
            (("--agent", AGENT, "--resume"), "to resume"),
            (("--agent", AGENT, "--recipe", "lop"), "did you mean 'loop'?"),
            (("--agent", AGENT, "--feature", "nowhere"), "nowhere"),
            (("nowhere.md", "--agent", AGENT), "cannot read 'nowhere.md'"),
            (("--agent", AGENT, "--resume", "--reset"), "exclude each other"),
        ],
    )
    def test_what_is_wrong_is_said_before_anything_is_begun(self, repo, words, said):
        done = bn(repo, "run", *words)
        assert done.returncode in (1, 2)
        assert said in done.stderr
        assert done.stdout == ""
        assert "session" not in bn(repo, "log").stdout

    def test_an_agent_that_takes_only_stdio_gets_it(self, repo):
        done = bn(repo, "run", "words.md", "--agent", f"{AGENT} --misbehave stdio-only")
        assert msgspec.json.decode(done.stdout)["why"] == "unproven", done.stderr


class TestTerminal:
    def test_a_person_watches_and_steers(self, repo):
        terminal = RunTerminal(repo, "words.md", "--agent", f"{AGENT} --misbehave slow=0.2")
        terminal.wait_for("Working on")
        terminal.press("n")
        terminal.wait_for("new note:")
        terminal.press("Mind the gap\r")
        terminal.wait_for("may the agent do this? Edit one.py")
        terminal.press("y")
        terminal.wait_for("iteration 2")
        terminal.wait_for("may the agent do this? Edit two.py")
        terminal.press("n")
        terminal.wait_for("refused (person)")
        assert terminal.end() == 1
        assert Path(repo.path / "one.py").exists()
        assert not Path(repo.path / "two.py").exists()
        assert "Mind the gap" in bn(repo, "note", "list").stdout

    def test_a_person_pauses_speaks_and_adds_a_task(self, repo):
        terminal = RunTerminal(repo, "words.md", "--agent", f"{AGENT} --misbehave slow=0.3", "--approve", "all")
        terminal.wait_for("Working on")
        terminal.press("p")
        terminal.wait_for("PAUSED after this iteration")
        terminal.press("m")
        terminal.wait_for("to the agent: (enter")
        terminal.press("Mind the gap\r")
        terminal.wait_for("to the agent, after its turn: Mind the gap")
        terminal.press("t")
        terminal.wait_for("new task:")
        terminal.press("Write itx\x7f down\r")
        terminal.wait_for("pending: Write it down")
        terminal.press("s")
        terminal.wait_for("interrupted")
        assert terminal.end() == 130
        assert "Write it down" in bn(repo, "task", "list").stdout

    def test_a_person_is_asked_whether_to_begin_with_gaps(self, repo):
        """Both planners do nothing: neither when they are prompted, nor when they are reminded of the summary."""
        words = ("words.md", "--agent", f"{AGENT} --misbehave no-op@1,no-op@2,no-op@3,no-op@4", "--approve", "all")
        terminal = RunTerminal(repo, *words)
        terminal.wait_for("not covered: R2 Add the word two")
        terminal.wait_for("Begin without tasks for these?")
        terminal.press("n")
        terminal.wait_for("no task covers 2 of 2 requirements: R1, R2")
        assert terminal.end() == 1
        added = bn(repo, "task", "add", "Say one", "--feature", "words", "--covers", "R1", "--covers", "R9")
        assert added.returncode == 0
        answer = msgspec.json.decode(bn(repo, "plan", "coverage", "words").stdout)
        (task,) = msgspec.json.decode(bn(repo, "task", "list").stdout)["tasks"]
        assert task["covers"] == ["R1", "R9"]
        assert [one["tasks"] for one in answer["requirements"]] == [[task["id"]], []]
        assert (answer["missing"], answer["unknown"]) == (["R2"], {task["id"]: ["R9"]})
        shown = bn(repo, "plan", "coverage", "-H").stdout
        assert "words: tasks cover 1 of 2 requirements" in shown
        assert f"{task['id']} covers what the specification does not have: R9" in shown
        assert "COVERS" in bn(repo, "task", "list", "-H").stdout

    def test_a_key_stops_it(self, repo):
        terminal = RunTerminal(repo, "words.md", "--agent", f"{AGENT} --misbehave slow=0.2", "--approve", "all")
        terminal.wait_for("Working on")
        terminal.press("s")
        terminal.wait_for("interrupted")
        assert terminal.end() == 130


class TestFooter:
    KNOWN = FooterState(name="auth", agent="goose", iterations={1: 3}, tasks={"bn-1f3a": "Log in"}, closed=1, total=4)

    def test_it_says_how_the_run_stands(self):
        shown = "\n".join(line.text for line in footer(self.KNOWN, width=80))
        assert "auth · iteration 3 · 0:00 · goose" in shown
        assert "◐ bn-1f3a Log in" in shown
        assert "██████░░░░░░░░░░░░░░░░░░ 1/4 tasks" in shown

    @pytest.mark.parametrize("height", [3, 10, 40])
    @pytest.mark.parametrize("width", [10, 29, 59, 200])
    def test_it_fits_the_terminal_and_ends_with_the_keys(self, width, height):
        text = "漢字 \x1b[31m very long " * 20
        known = FooterState(name=text, agent=text, tasks={"bn-1": text}, tools={1: text}, entry="x" * 500)
        keys = ("y yes", "n no", "a always")
        questions = (None, FooterQuestion("why?" * 50), FooterQuestion(text, detail=f"{text}\n" * 50, keys=keys))
        for known.question in questions:
            lines = footer(known, width=width, height=height)
            assert max(width_of(line.text) for line in lines) <= width
            assert len(lines) < height
            assert all("\x1b" not in line.text for line in lines)
        said = " ".join(" ".join(line.text for line in lines).split())
        if height > 3:
            assert all(key in said for key in (*keys, "v shows all"))

    def test_a_diff_is_shown_in_full_where_there_is_room_and_coloured(self):
        detail = "--- a\n+++ a\n@@ -1 +1 @@\n-one\n+two"
        known = FooterState(question=FooterQuestion("may it?", detail=detail, is_diff=True, keys=("y yes", "n no")))
        lines = footer(known, width=59, height=24)
        assert [(line.text, line.style) for line in lines[3:-1]] == [
            (" │ --- a", "bold"), (" │ +++ a", "bold"), (" │ @@ -1 +1 @@", "cyan"), (" │ -one", "red"),
            (" │ +two", "green"),
        ]  # fmt: skip
        assert lines[-1].text == " y yes · n no"
        cut = footer(known, width=59, height=8)
        assert [line.text for line in cut[2:]] == [
            " may it?", " │ --- a", " │ +++ a", " … 5 lines in all", " y yes · n no · v shows all",
        ]  # fmt: skip

    @pytest.mark.parametrize(("seconds", "shown"), [(5, "0:05"), (247, "4:07"), (3729, "1:02:09")])
    def test_durations(self, seconds, shown):
        assert elapsed(seconds) == shown

    @pytest.mark.parametrize(("number", "shown"), [(950, "950"), (12_345, "12.3k"), (1_200_000, "1.2M")])
    def test_numbers(self, number, shown):
        assert thousands(number) == shown
