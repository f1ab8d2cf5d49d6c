"""How `bn` is started, and from where."""

import json
import subprocess
import sys

import pytest

from cli.conftest import BN


def test_the_module_is_the_command(bn):
    task = bn.add("One")
    done = subprocess.run(
        [sys.executable, "-m", "binnacle", "ready"],
        cwd=bn.repo, env=bn.env, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout)["tasks"][0]["id"] == task
    wrong = subprocess.run(
        [sys.executable, "-m", "binnacle", "taks"],
        cwd=bn.repo, env=bn.env, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert wrong.returncode == 2
    assert json.loads(wrong.stderr)["error"]["code"] == "E_USAGE"


@pytest.mark.parametrize("start", [["-m", "binnacle"], ["-X", "utf8", "-m", "binnacle"]])
def test_what_a_run_starts_is_no_person_however_the_run_was_started(bn, tmp_path, start):
    module = tmp_path / "lookalike" / "binnacle" / "__main__.py"
    module.parent.mkdir(parents=True)
    module.with_name("__init__.py").touch()
    module.write_text(
        "import os, subprocess\n"
        "env = {name: value for name, value in os.environ.items() if name != 'PYTHONPATH'}\n"
        f"subprocess.run(['{BN}', 'config', 'set', 'project.title', 'mine'], env=env, timeout=60)\n"
    )
    done = subprocess.run(
        [sys.executable, *start, "run", "spec.md"],
        cwd=bn.repo, env=bn.env | {"PYTHONPATH": str(tmp_path / "lookalike")}, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert json.loads(done.stderr)["error"]["code"] == "E_PERSON_NEEDED"


@pytest.mark.parametrize(
    "words", ["ready", "", "add x", "config list", "mcp serve", "upstream list", "doctor", "trust"]
)
def test_a_deleted_working_directory_is_an_ordinary_error(bn, tmp_path, words):
    folder = tmp_path / "gone"
    script = f"mkdir {folder} && cd {folder} && rmdir {folder} && exec {BN} {words}"
    done = subprocess.run(
        ["bash", "-c", script], env=bn.env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert done.returncode == 1
    error = json.loads(done.stderr)["error"]
    assert error["code"] == "E_NO_PROJECT"
    assert error["message"] == "the current directory was deleted"
    assert "bn -C DIR" in error["hint"]


def test_a_named_repository_is_enough_where_the_working_directory_is_gone(bn, tmp_path):
    folder = tmp_path / "gone"
    script = f"mkdir {folder} && cd {folder} && rmdir {folder} && exec {BN} -C {bn.repo} ready"
    done = subprocess.run(["bash", "-c", script], env=bn.env, capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(done.stdout) == {"tasks": [], "total": 0}


@pytest.mark.parametrize(
    ("words", "code"), [("ready >&-", 0), ("ready >&- 2>&-", 0), ("taks 2>&-", 2), ("taks >&-", 2)]
)
def test_a_stream_that_is_closed_is_no_defect(bn, words, code):
    done = subprocess.run(
        ["bash", "-c", f"{BN} {words}"],
        cwd=bn.repo,
        env=bn.env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert "E_INTERNAL" not in done.stderr
