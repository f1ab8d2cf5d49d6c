"""What is wrong with Python files is said with and without ruff."""

import pytest

from binnacle.bridge.jobs.protocol import EDITOR_NEEDED


@pytest.fixture
def without_ruff(desk, monkeypatch):
    monkeypatch.setenv("VIRTUAL_ENV", desk.workspace)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return desk


def test_errors_that_keep_a_file_from_running_are_found(without_ruff):
    desk = without_ruff
    desk.write("broken.py", "x = 1\ndef f(:\n    pass\n")
    desk.write("node_modules/other.py", "def f(:\n")
    desk.write("null.py", "x = 1\0\n")
    told = desk("diagnostic.collect")
    assert told["count"] == 2
    row = told["diagnostics"][0]
    assert (row["path"], row["line"], row["severity"], row["source"]) == ("broken.py", 2, "error", "python")
    assert desk("diagnostic.collect", path="shop.py") == {"count": 0, "diagnostics": []}
    assert desk("diagnostic.collect", path="broken.py")["count"] == 1


def test_ruff_is_asked_where_it_is(desk):
    desk.write("unused.py", "import os\nprint(undefined_name)\n")
    desk.write("broken.py", "def f(:\n")
    rows = desk("diagnostic.collect", path="unused.py")["diagnostics"]
    found = {row["code"]: row["severity"] for row in rows}
    assert (found["F401"], found["F821"]) == ("warning", "error")
    assert rows[0]["source"] == "ruff"
    assert rows[0]["path"] == "unused.py"
    assert all(row["severity"] == "error" for row in desk("diagnostic.collect", path="broken.py")["diagnostics"])


def test_other_languages_need_an_editor(desk):
    desk.write("cart.ts", "let x: number = 'a'\n")
    assert desk.fails("E_UNSUPPORTED", "diagnostic.collect", path="cart.ts").hint == EDITOR_NEEDED
    desk.fails("E_FILE_NOT_FOUND", "diagnostic.collect", path="gone.py")
