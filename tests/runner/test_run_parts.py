"""Hooks, templates and trees in whole runs of `bn run`, with the demo agent."""

import json
import os
import shlex
import signal
import sys
from pathlib import Path

import pytest

import forked_bn
from demo_commands import DEMO_AGENT
from runner.repositories import Repository
from runner.runs import TWO

BN = str(Path(sys.executable).with_name("bn"))


@pytest.fixture
def run(repo: Repository, tmp_path, monkeypatch):
    """Makes a run to its end; everything that happened, an event each."""
    for name in [name for name in os.environ if name.startswith("BN_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("BN_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("BN_USER", "ann")
    repo.commit("spec", {"spec.md": TWO})

    def run(*words: str, code: int = 3) -> list[dict]:
        done = forked_bn.run(
            [BN, "run", "spec.md", "--agent", shlex.join(DEMO_AGENT), "--approve", "all", "--json", *words],
            cwd=repo.path, timeout=110,
        )  # fmt: skip
        assert done.returncode == code, done.stderr.decode() + done.stdout.decode()
        return [json.loads(line) for line in done.stdout.splitlines()] or [json.loads(done.stderr)]

    return run


def prompts(happened: list[dict]) -> list[str]:
    return [one["text"] for one in happened if one["event"] == "prompted"]


HOOKS = """\
session_start: ["sh", "-c", "echo $BN_HOOK $BN_RUN_NAME >> LOG"]
pre_iteration: {command: echo look out, pipe_output: true}
post_iteration: {command: echo all is well, pipe_output: true}
on_task_complete: ["sh", "-c", "echo $BN_HOOK $BN_TASK_TITLE >> LOG"]
session_end: ["sh", "-c", "echo $BN_HOOK >> LOG"]
"""


def test_hooks_run_at_their_moments_and_agents_are_told(repo, run, tmp_path):
    log = tmp_path / "log"
    repo.write({".binnacle/hooks.yaml": HOOKS.replace("LOG", str(log))})
    happened = run("--yes", "--workers", "2")
    assert all(one["is_ok"] for one in happened if one["event"] == "hook"), happened
    assert sorted(log.read_text().splitlines()) == [
        "on_task_complete Add the word one",
        "on_task_complete Add the word two",
        "session_end",
        "session_start spec",
    ]
    said = prompts(happened)
    assert any("look out" in text and "## Workflow" in text for text in said), "before: as a part of the prompt"
    assert any("all is well" in text and "## Workflow" not in text for text in said), "afterwards: by itself"
    assert {"one.py", "two.py"} <= set(repo.files("main"))
    assert repo.status == "?? .binnacle/"
    assert len(repo.git("worktree", "list").splitlines()) == 1


def test_hooks_that_nobody_trusted_do_not_run(repo, run, tmp_path):
    repo.write({".binnacle/hooks.yaml": f"session_start: touch {tmp_path}/ran\n"})
    happened = run()
    (hook,) = (one for one in happened if one["event"] == "hook")
    assert "bn trust hook:" in hook["said"]
    assert not (tmp_path / "ran").exists()


def test_a_required_hook_that_fails_ends_the_run(repo, run):
    repo.write({".binnacle/hooks.yaml": "pre_iteration: {command: 'false', required: true}\n"})
    assert run("--yes", code=1)[-1]["why"] == "hook_failed"


def test_a_prompt_that_nobody_trusted_is_not_the_projects(repo, run):
    repo.write({".binnacle/prompts/run.md": "Iteration {{iteration}} of {{run}}.\n"})
    assert not [text for text in prompts(run()) if text.startswith("Iteration ")]


def test_the_prompt_is_the_projects_own(repo, run):
    repo.write({".binnacle/prompts/run.md": "Iteration {{iteration}} of {{run}}.\n\n## Tasks\n\n{{tasks}}\n"})
    said = [text for text in prompts(run("--yes", "--extra", "Mind the gap.")) if text.startswith("Iteration ")]
    assert [text.splitlines()[0] for text in said] == ["Iteration 1 of spec.", "Iteration 2 of spec."]
    assert "Add the word one" in said[0]
    assert said[0].rstrip().endswith("Mind the gap.")


def test_a_wrong_template_is_told_before_anything_is_begun(repo, run):
    (repo.path / "mine.md").write_text("{{taks}}")
    (told,) = run("--template", "mine.md", code=1)
    assert "mine.md:1: unknown variable 'taks'" in told["error"]["message"]


KILL = """\
#!/bin/sh
# At the moment in which the branch of the run would move: kills the run, once, and lets git fail.
[ "$1" = prepared ] && grep -q refs/heads/main && [ ! -e FLAG ] || exit 0
touch FLAG
kill -9 $(awk '/^PPid/ {print $2}' /proc/$PPID/status)
exit 1
"""


def test_work_that_was_done_but_not_merged_when_the_run_was_killed_is_merged_by_the_next(repo, run, tmp_path):
    one, flag = TWO[: TWO.index("- Add the word two")], tmp_path / "flag"
    repo.commit("one task", {"spec.md": one})
    repo.write({".git/hooks/reference-transaction": KILL.replace("FLAG", str(flag))})
    (repo.path / ".git/hooks/reference-transaction").chmod(0o755)
    run("--workers", "2", code=-signal.SIGKILL)
    assert flag.exists()
    assert "one.py" not in repo.files("main")
    happened = run("--workers", "2")
    assert [one["outcome"] for one in happened if one["event"] == "attempt_ended"] == ["done"]
    assert not [one for one in happened if one["event"] == "agent_started"], "the agent had done all of it"
    assert (happened[-1]["why"], happened[-1].get("kept", [])) == ("unproven", [])
    assert "one.py" in repo.files("main")
    assert repo.status == ""


def test_a_run_in_a_tree_of_its_own_leaves_a_branch(repo, run):
    ended = run("--worktree")[-1]
    assert ended["kept"] == ["bn/spec/run"]
    assert {"one.py", "two.py"} <= set(repo.files("bn/spec/run"))
    assert "one.py" not in repo.files("main")
    assert repo.status == ""
