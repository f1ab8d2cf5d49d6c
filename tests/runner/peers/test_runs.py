"""`bn run` with goose, opencode and Claude Code, each with a scripted model: two tasks are planned and done."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from runner.peers import model as models
from runner.peers.conftest import AGENTS, WRITES, Lead
from runner.peers.model import Builder
from runner.repositories import Repository

pytestmark = pytest.mark.peers

BN = str(Path(sys.executable).with_name("bn"))
RUN_PATIENCE = 600


@pytest.mark.parametrize("lead", AGENTS, indirect=True)
def test_a_specification_is_planned_and_done(lead: Lead, tmp_path: Path):
    repo = Repository.new(tmp_path / "repo", {"spec.md": "# Words\n\n## Tasks\n\n- Write one\n- Write two\n"})
    write = WRITES[lead.name]
    model = Builder(lambda name, text: write(str(repo.path / name), text))
    with models.playing(model):
        env = {**lead.env, **AGENTS[lead.name](model.url), "BN_DATA_DIR": str(tmp_path / "bn"), "BN_USER": "ann"}
        env["PATH"] = os.pathsep.join([env["PATH"], os.environ["PATH"]])
        command = [BN, "run", "spec.md", "--agent", lead.name, "--approve", "edits", "--auto-commit", "--json"]
        done = subprocess.run(
            command, cwd=repo.path, env=env, capture_output=True, text=True, timeout=RUN_PATIENCE, check=False
        )
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, (told[-1:], done.stderr)
    assert (told[-1]["why"], told[-1]["closed"], told[-1].get("left", 0)) == ("complete", 2, 0)
    assert [repo.read(f"{word}.txt") for word in ("one", "two")] == ["one\n", "two\n"]
    assert repo.git("log", "--format=%s").splitlines()[:2] == ["Write two", "Write one"]
