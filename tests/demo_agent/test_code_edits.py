"""Code of a specification in files: once is as twice."""

import pytest

from scripted_agent.code_edits import merged, place, write
from scripted_agent.spec import Block

OLD = '"""Cart."""\n\nimport os\n\nRATE = 1\n\n\n@cached\ndef total(items):\n    return 0\n\n\nclass Cart:\n    pass\n'


def block(code: str, path: str = "cart.py") -> Block:
    return Block(language="python", path=path, code=code)


@pytest.mark.parametrize(
    ("code", "there", "gone"),
    [
        ("def total(items):\n    return 1\n", "def total(items):\n    return 1\n\n\nclass Cart:", "@cached"),
        ("def tax(x):\n    return x\n", "    pass\n\n\ndef tax(x):\n    return x\n", None),
        ("RATE = 2\n", "RATE = 2\n", "RATE = 1"),
        ("from a import b\n\n\ndef tax():\n    return b\n", "import os\nfrom a import b\n", None),
        ("class Cart:\n    x = 1\n", "class Cart:\n    x = 1\n", "pass"),
    ],
)
def test_definitions_are_replaced_by_name_or_appended_and_twice_is_as_once(code, there, gone):
    once = merged(OLD, block(code))
    assert there in once
    assert gone is None or gone not in once
    assert merged(once, block(code)) == once


def test_a_new_file_a_whole_module_and_any_other_file_are_written_as_they_are():
    assert merged(None, block("x = 1\n")) == "x = 1\n"
    assert merged(OLD, block('"""New."""\n\nx = 1\n')) == '"""New."""\n\nx = 1\n'
    assert merged("old\n", block("new\n", "notes.txt")) == "new\n"
    assert merged("def (:\n", block("x = 1\n")) == "x = 1\n"


@pytest.mark.parametrize("path", ["../out.py", "/etc/passwd", ".git/config", "a/../../b", ""])
def test_nothing_outside_of_the_project_is_written(tmp_path, path):
    with pytest.raises(ValueError, match="not a file of this project"):
        place(str(tmp_path), path)


def test_a_change_within_a_second_is_seen_by_python(tmp_path):
    file = tmp_path / "a" / "b.py"
    write(str(file), "x = 1\n")
    before = int(file.stat().st_mtime)
    write(str(file), "x = 2\n")
    assert int(file.stat().st_mtime) > before
