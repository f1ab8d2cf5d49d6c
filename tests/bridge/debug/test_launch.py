"""What is to be debugged: files, modules, tests, configurations; mistakes are found before anything starts."""

import json
import os

import pytest

from binnacle.bridge.debug.launch_json import without_comments
from binnacle.bridge.jobs.protocol import EDITOR_NEEDED
from bridge.debug.desk import where

CONFIGURATIONS = """{
    // as VS Code writes it
    "version": "0.2.0",
    "configurations": [
        {
            "name": "shop", "type": "debugpy", "request": "launch",
            "program": "${workspaceFolder}/shop.py", /* the program */
            "args": ["5", "//no comment"],
            "console": "integratedTerminal",
            "preLaunchTask": "build",
        },
        {
            "name": "env", "type": "python", "request": "launch", "program": "printer.py",
            "cwd": "${workspaceFolder}/sub",
            "env": {"GREETING": "hello ${env:WHO}", "BASE": "${workspaceFolderBasename}"}, "envFile": "../vars.env",
        },
        {"name": "file", "type": "debugpy", "request": "launch", "program": "${file}"},
        {"name": "picked", "type": "debugpy", "request": "attach", "processId": "${command:pickProcess}"},
        {"name": "ruby", "type": "rdbg", "request": "launch", "script": "a.rb"},
        {"name": "module", "type": "debugpy", "request": "launch", "module": "shop", "args": [],
         "linux": {"args": ["4"]}, "osx": {"args": ["4"]}},
    ],
    "compounds": [{"name": "all", "configurations": ["shop", "env"]}],
}
"""


@pytest.fixture
def configured(desk, monkeypatch):
    monkeypatch.setenv("WHO", "you")
    desk.write(".vscode/launch.json", CONFIGURATIONS)
    desk.write("vars.env", "# comment\nFROM_FILE='yes'\nexport GREETING=overridden\n")
    desk.write(
        "sub/printer.py",
        "import os\nprint(os.environ['GREETING'], os.environ['BASE'], os.environ['FROM_FILE'], os.getcwd())\n",
    )
    return desk


def test_a_configuration_is_launched(configured):
    configured("breakpoint.set", path="shop.py", line=27)
    told = configured("debug.start", launch="shop")
    assert where(told) == ("shop.py", 27)
    assert "preLaunchTask" in told["notes"][0]
    found = configured("debug.evaluate", expression="sys.argv[1:]")
    assert found["result"] == "['5', '//no comment']"
    assert "notes" not in configured("debug.status")


def test_its_variables_and_environment_are_filled_in(configured):
    told = configured("debug.start", launch="env")
    cwd = os.path.join(configured.workspace, "sub")
    assert told["output"] == f"hello you shop yes {cwd}\n"


def test_parameters_go_before_the_configuration(configured):
    told = configured("debug.start", launch="env", env={"GREETING": "bye"})
    assert told["output"].startswith("bye shop yes ")
    configured("breakpoint.set", path="shop.py", line=27)
    configured("debug.start", launch="shop", args=["0"])
    assert configured("debug.evaluate", expression="sys.argv[1:]")["result"] == "['0']"


def test_the_open_file_is_a_parameter(configured):
    error = configured.fails("E_INVALID_PARAMS", "debug.start", launch="file")
    assert "file" in error.hint
    assert configured("debug.start", launch="file", file="shop.py")["state"] == "terminated"


def test_settings_of_the_platform_are_taken(configured):
    configured("breakpoint.set", path="shop.py", line=27)
    configured("debug.start", launch="module")
    assert configured("debug.evaluate", expression="sys.argv[1:]")["result"] == "['4']"


def test_what_only_an_editor_knows_is_said(configured):
    for name in ("picked", "all", "ruby"):
        assert configured.fails("E_UNSUPPORTED", "debug.start", launch=name).hint == EDITOR_NEEDED


def test_an_unknown_configuration_names_those_there_are(configured):
    error = configured.fails("E_NOT_FOUND", "debug.start", launch="shopp")
    assert "shop" in error.hint
    assert "env" in error.details["configurations"]


def test_a_damaged_file_of_configurations_is_said(desk):
    error = desk.fails("E_NOT_FOUND", "debug.start", launch="shop")
    assert "program" in error.hint
    desk.write(".vscode/launch.json", '{"configurations": [')
    error = desk.fails("E_INVALID_PARAMS", "debug.start", launch="shop")
    assert "launch.json" in error.message


def test_a_configuration_may_be_given_whole_or_be_a_file(desk):
    given = {"type": "debugpy", "request": "launch", "program": "shop.py", "args": "0"}
    assert desk("debug.start", launch=given)["exitCode"] == 0
    assert desk("debug.start", launch="shop.py")["exitCode"] == 0


def test_a_module_is_run(desk):
    desk("breakpoint.set", path="shop.py", line=22)
    assert where(desk("debug.start", module="shop")) == ("shop.py", 22)
    desk("debug.stop")
    told = desk("debug.start", module="no_such_module")
    assert told["state"] == "terminated"
    assert told["exitCode"] == 1
    assert "no_such_module" in told["output"]


def test_a_program_may_be_stopped_at_its_first_line(desk):
    told = desk("debug.start", program="shop.py", stopOnEntry=True)
    assert where(told)[0] == "shop.py"
    assert told["reason"] == "entry"


def test_libraries_are_stepped_over_unless_told_otherwise(desk):
    desk.write("reader.py", "import json\ntext = '[1]'\nfound = json.loads(text)\nprint(found)\n")
    desk("breakpoint.set", path="reader.py", line=3)
    desk("debug.start", program="reader.py")
    assert where(desk("debug.step-into")) == ("reader.py", 4)
    desk("debug.stop")
    desk("debug.start", program="reader.py", justMyCode=False)
    assert desk("debug.step-into")["frames"][0]["file"].endswith("json/__init__.py")


@pytest.mark.parametrize(
    ("code", "params"),
    [
        ("E_MISSING_REQUIRED_PARAM", {}),
        ("E_INVALID_PARAMS", {"program": "shop.py", "module": "shop"}),
        ("E_FILE_NOT_FOUND", {"program": "gone.py"}),
        ("E_FILE_NOT_FOUND", {"pytest": "tests/test_gone.py::test_a"}),
        ("E_FILE_NOT_FOUND", {"program": "shop.py", "python": "/no/such/python"}),
        ("E_FILE_NOT_FOUND", {"launch": {"program": "shop.py", "envFile": "gone.env"}}),
        ("E_INVALID_PATH", {"program": "shop.py", "cwd": "gone"}),
        ("E_INVALID_PATH", {"program": "shop.py", "folder": "gone"}),
        ("E_INVALID_PARAMS", {"launch": {"type": "debugpy", "request": "jump", "program": "shop.py"}}),
        ("E_UNSUPPORTED", {"program": "notes.txt"}),
    ],
)
def test_mistakes_are_found_before_anything_starts(desk, code, params):
    desk.write("notes.txt", "no program")
    desk.fails(code, "debug.start", **params)
    desk.fails("E_NO_SESSION", "debug.status")
    desk.fails("E_NO_SESSION", "dap.summary")


def test_a_path_that_is_not_there_is_said_as_given_and_as_looked_for(desk):
    error = desk.fails("E_FILE_NOT_FOUND", "debug.start", program="gone.py")
    assert error.details == {"original": "gone.py", "resolved": os.path.join(desk.workspace, "gone.py")}


def test_an_adapter_that_is_not_there_says_how_to_get_it(desk, monkeypatch):
    desk.write("main.go", "package main\n")
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setenv("HOME", desk.workspace)
    error = desk.fails("E_UNSUPPORTED", "debug.start", program="main.go")
    assert "go install" in error.hint


def test_a_python_that_fails_is_a_failed_launch(desk):
    path = desk.write("broken-python", "#!/bin/sh\nexit 3\n")
    os.chmod(path, 0o755)
    error = desk.fails("E_LAUNCH_FAILED", "debug.start", program="shop.py", python=path)
    assert "shop.py" in error.message
    desk.fails("E_NO_SESSION", "debug.status")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1, // x\n"b": [1, 2,],}', {"a": 1, "b": [1, 2]}),
        ('{"url": "http://x/*y*/", /* , */ "c": "\\"//"}', {"url": "http://x/*y*/", "c": '"//'}),
        ('["a,]", // ]\n]', ["a,]"]),
    ],
)
def test_comments_and_last_commas_are_no_mistakes(text, value):
    assert json.loads(without_comments(text)) == value
    assert len(without_comments(text)) == len(text)


@pytest.mark.parametrize("comments", ["/" * 5000, "/**/" * 5000, "/*" * 5000, " //\n" * 5000])
def test_comments_without_end_are_read_at_once(comments):
    assert without_comments(f"[1,{comments}").startswith("[1")
