"""Scripts as tools: what is checked before they run, and how programs of a project are run and ended."""

import asyncio
import json
import os
import sys

import pytest

from binnacle.bridge.jobs.process_identity import is_running
from binnacle.bridge.jobs.protocol import BridgeError
from binnacle.bridge.manifest import ScriptManifest, gather_scripts, shipped_scripts
from binnacle.bridge.project_scripts import check_trusted, find_project_scripts, find_trust_items
from binnacle.bridge.script_process import MAX_OUTPUT_BYTES, run_program
from binnacle.config.trust import keep
from binnacle.processes.keeper import Keeper
from binnacle.project.project import find_project
from binnacle.project.tool_catalog import catalog_of
from binnacle.tools.caller import Caller
from binnacle.tools.catalog import Catalog
from binnacle.tools.dispatch import Dispatcher
from binnacle.tools.json_schema import input_schema
from binnacle.tools.script_tools import ScriptPlace, script_tools
from binnacle.work.actor import Actor
from binnacle.work.session import Session
from bridge.serving import loop, run, until

METADATA = "alias: {alias}\nname: A\ncategory: a\ndescription: Does it.\n"


class Recorded:
    """Stands where a host would be: keeps what it was asked to run."""

    def __init__(self):
        self.works = []
        self.error = None

    async def __call__(self, work):
        self.works.append(work)
        work.tell(50, "half way")
        if self.error:
            raise self.error
        return {"ran": work.metadata.alias}


@pytest.fixture
def recorded():
    return Recorded()


@pytest.fixture
def tools(recorded):
    return Catalog(script_tools(shipped_scripts(), recorded, ScriptPlace("/ws", "/ws/sub")))


def call(tools, name, caller=None, **arguments):
    caller = caller or Caller(session=Session(actor=Actor("ann")))
    return run(Dispatcher(tools).call(name, json.dumps(arguments).encode(), caller))


class TestTools:
    def test_all_that_are_enabled_are_tools(self, tools):
        names = {spec.name for spec in tools}
        assert len(names) == sum(one.metadata.mcp.enabled for one in shipped_scripts().scripts.values())
        assert "debug_tracker" not in names
        assert tools.find("breakpoint_add").spec.name == "breakpoint_set"
        assert tools.find("variable_list").spec.name == "debug_list_variables"

    def test_an_answer_is_text_and_structure(self, tools, recorded):
        outcome = call(tools, "debug_status")
        assert json.loads(outcome.text) == outcome.envelope["data"] == {"ran": "debug.status"}
        assert recorded.works[0].params == {}

    def test_what_is_missing_is_named(self, tools, recorded):
        outcome = call(tools, "debug_evaluate")
        assert outcome.text.startswith("[E_INVALID_PARAMS] debug_evaluate needs 'expression'")
        assert recorded.works == []

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ({"path": "a.py", "line": "twelve"}, "line"),
            ({"path": "a.py", "line": 0}, "line"),
            ({"path": 5, "line": 1}, "path"),
            ({"path": "a.py", "lin": 1}, "no parameter 'lin'\nhint: did you mean 'line'?"),
        ],
    )
    def test_what_is_wrong_is_named(self, tools, recorded, arguments, said):
        outcome = call(tools, "breakpoint_set", **arguments)
        assert outcome.is_error
        assert outcome.envelope["error"]["code"] == "E_INVALID_PARAMS"
        assert said in outcome.text
        assert recorded.works == []

    def test_a_choice_that_is_none_is_told_the_nearest(self, tools):
        outcome = call(tools, "debug_list_variables", scope="locals")
        assert "did you mean 'local'?" in outcome.text

    def test_other_words_for_parameters_and_tools_are_understood(self, tools, recorded):
        assert not call(tools, "breakpoint_add", file="a.py", line="12").is_error
        assert recorded.works[0].params == {"path": "/ws/a.py", "line": 12}

    def test_defaults_are_filled_in_and_what_was_left_out_is_not(self, tools, recorded):
        call(tools, "debug_get_variable", variablesReference=7, sessionId=None)
        assert recorded.works[0].params == {"variablesReference": 7, "start": 0, "count": 100, "filter": "all"}

    def test_a_longer_time_of_its_own_extends_the_deadline(self, tools, recorded):
        call(tools, "debug_continue", timeoutMs=120_000)
        call(tools, "breakpoint_list")
        assert [one.timeout for one in recorded.works] == [122.0, 5.0]

    def test_an_error_reads_as_it_should(self, tools, recorded):
        hint = "start a debug session first using debug_start"
        recorded.error = BridgeError("E_NO_SESSION", "no debug session", hint=hint)
        outcome = call(tools, "debug_evaluate", expression="x")
        assert outcome.text == f"[E_NO_SESSION] no debug session\nhint: {hint}"
        assert outcome.envelope["error"]["code"] == "E_NO_SESSION"

    def test_an_error_that_comes_again_and_again_is_noticed_and_keeps_its_code(self, tools, recorded):
        recorded.error = BridgeError("E_NO_SESSION", "no debug session", hint="start one")
        caller = Caller(session=Session(actor=Actor("ann")))
        texts = [call(tools, "debug_evaluate", caller, expression="x").text for _ in range(3)]
        assert texts[1] == "[E_NO_SESSION] no debug session\nhint: start one"
        assert texts[2].startswith("[E_NO_SESSION] no debug session (the same call has failed 3 times)")

    def test_an_error_about_a_file_says_which_was_given_and_which_was_meant(self, tools, recorded):
        recorded.error = BridgeError("E_FILE_NOT_FOUND", "no such file")
        outcome = call(tools, "breakpoint_set", path="a.py", line=1)
        assert "'a.py' is /ws/a.py" in outcome.text
        details = outcome.envelope["error"]["details"]
        assert (details["original"], details["resolved"]) == ("a.py", "/ws/a.py")

    def test_progress_reaches_the_caller(self, tools):
        seen = []
        call(
            tools,
            "debug_status",
            caller=Caller(session=Session(actor=Actor("ann")), progress=lambda *told: seen.append(told)),
        )
        assert seen == [(50, 100, "half way")]

    def test_an_answer_that_is_too_long_is_cut(self):
        async def execute(work):
            return ["x" * 1000] * 200

        catalog = Catalog(script_tools(shipped_scripts(), execute, ScriptPlace("/ws", "/ws")))
        outcome = call(catalog, "debug_status")
        assert outcome.envelope["data"]["truncated"]
        assert len(outcome.text) < 10_000
        assert "ask for less" in outcome.text

    def test_what_is_said_of_a_parameter_is_in_the_schema(self, tools):
        condition = input_schema(tools.find("breakpoint_set").spec)["properties"]["condition"]
        assert condition["description"] == "stop only if this is true; in the language of the program"
        assert condition["examples"] == ["total < 0", "len(items) > 10"]

    def test_how_a_tool_behaves_follows_from_its_metadata(self, tools):
        hints = {spec.name: spec.hints for spec in tools}
        assert hints["breakpoint_list"].read_only
        assert not hints["debug_evaluate"].read_only, "it may have side effects"
        assert hints["debug_stop"].destructive
        schema = input_schema(tools.find("debug_evaluate").spec)
        assert schema["required"] == ["expression"]
        assert schema["properties"]["context"] == {"enum": ["hover", "repl", "watch"], "default": "repl"}


RESOLVE = """\
alias: a.paths
name: A
category: a
description: Does it.
params:
  here: {type: string, resolve: cwd-relative}
  there: {type: string, resolve: workspace-relative}
  whole: {type: string, resolve: absolute}
"""


def test_paths_are_resolved_as_their_metadata_says(tmp_path, recorded):
    (tmp_path / "a.meta.yaml").write_text(RESOLVE)
    catalog = Catalog(script_tools(gather_scripts(str(tmp_path)).manifest, recorded, ScriptPlace("/ws", "/ws/sub")))
    call(catalog, "a_paths", here="x.py", there="../y.py", whole="/z.py")
    assert recorded.works[0].params == {"here": "/ws/sub/x.py", "there": "/y.py", "whole": "/z.py"}
    outcome = call(catalog, "a_paths", whole="z.py")
    assert "must be an absolute path: 'z.py'" in outcome.text
    assert "/ws/z.py" in outcome.text


def write(folder, alias, body, *, mode=0o755, metadata=""):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{alias}.meta.yaml").write_text(METADATA.format(alias=alias) + metadata)
    program = folder / f"{alias}.py"
    program.write_text(f"#!{sys.executable}\nimport json, os, sys, time\n{body}\n")
    program.chmod(mode)
    return str(program)


async def ran(program, params=None, *, timeout=20.0, tell=lambda *_: None, workspace=None):
    async with Keeper() as keeper:
        workspace = workspace or os.path.dirname(program)
        return await run_program(
            keeper, program, params or {}, alias="a.b", workspace=workspace, timeout=timeout, tell=tell
        )


def failed(program, **options):
    with pytest.raises(BridgeError) as caught:
        run(ran(program, **options))
    return caught.value


class TestPrograms:
    @pytest.fixture(params=["asyncio", "uvloop"], autouse=True)
    def _loop(self, request):
        token = loop.set(request.param)
        yield
        loop.reset(token)

    def test_parameters_go_in_and_the_answer_comes_out(self, tmp_path):
        program = write(tmp_path, "a.b", "print(json.dumps({'got': json.load(sys.stdin), 'in': os.getcwd()}))")
        assert run(ran(program, {"x": [1, "ü"]})) == {"got": {"x": [1, "ü"]}, "in": str(tmp_path)}

    def test_no_answer_is_nothing(self, tmp_path):
        assert run(ran(write(tmp_path, "a.b", ""))) is None

    def test_progress_is_told_line_by_line(self, tmp_path):
        body = "print('50% half way', 'words', '{\"pct\": 90, \"text\": \"nearly\"}', sep='\\n', file=sys.stderr)"
        seen = []
        run(ran(write(tmp_path, "a.b", body), tell=lambda *told: seen.append(told)))
        assert seen == [(50.0, "half way"), (None, "words"), (90.0, "nearly")]

    def test_its_own_error_is_the_error(self, tmp_path):
        body = "print(json.dumps({'error': {'code': 'E_BROKEN', 'message': 'it is', 'hint': 'mend it'}})); sys.exit(3)"
        error = failed(write(tmp_path, "a.b", body))
        assert (error.code, error.message, error.hint) == ("E_BROKEN", "it is", "mend it")

    def test_a_program_that_fails_is_quoted(self, tmp_path):
        error = failed(write(tmp_path, "a.b", "sys.exit('it went wrong')"))
        assert error.code == "E_SCRIPT_FAILED"
        assert "exit code 1" in error.message
        assert "it went wrong" in error.message

    def test_an_answer_that_is_no_json_is_an_error(self, tmp_path):
        error = failed(write(tmp_path, "a.b", "print('hello')"))
        assert "no JSON" in error.message

    def test_a_flood_is_ended(self, tmp_path):
        error = failed(write(tmp_path, "a.b", f"while True: sys.stdout.write('x' * {MAX_OUTPUT_BYTES >> 4})"))
        assert error.code == "E_LARGE_DATA"

    def test_what_takes_too_long_is_ended_with_all_it_started(self, tmp_path):
        body = (
            "import subprocess\n"
            "child = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
            "open('pid', 'w').write(str(child.pid))\n"
            "print('started', file=sys.stderr, flush=True)\n"
            "time.sleep(600)"
        )
        error = failed(write(tmp_path, "a.b", body), timeout=3.0)
        assert error.code == "E_TIMEOUT"
        assert not is_running(int((tmp_path / "pid").read_text()))

    def test_a_cancelled_call_ends_it(self, tmp_path):
        program = write(tmp_path, "a.b", "open('pid', 'w').write(str(os.getpid())); open('ok', 'w'); time.sleep(600)")

        async def main():
            task = asyncio.create_task(ran(program))
            await until(lambda: os.path.exists(tmp_path / "ok"))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert not is_running(int((tmp_path / "pid").read_text()))

        run(main())

    def test_no_shell_reads_the_parameters(self, tmp_path):
        program = write(tmp_path, "a.b", "print(json.dumps(json.load(sys.stdin)))")
        assert run(ran(program, {"x": "$(touch pwned); `touch pwned`"}))["x"].startswith("$(")
        assert not os.path.exists(tmp_path / "pwned")

    def test_a_program_without_an_interpreter_is_an_error(self, tmp_path):
        program = tmp_path / "a.b.py"
        program.write_text("#!/no/such/interpreter\n")
        program.chmod(0o755)
        error = failed(str(program))
        assert error.code == "E_SCRIPT_FAILED"
        assert "cannot be started" in error.message or "exit code" in error.message

    def test_one_that_does_not_read_its_input_is_no_matter(self, tmp_path):
        program = write(tmp_path, "a.b", "print('{}')")
        assert run(ran(program, {"x": "y" * 1_000_000})) == {}


def trust(repo: str) -> None:
    """Trusts all scripts of a project as they are."""
    keep(repo, find_trust_items(repo), by="ann", at="", how="terminal")


class TestTrust:
    @pytest.fixture(autouse=True)
    def _config(self, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def test_a_script_runs_only_after_a_person_has_trusted_exactly_it(self, tmp_path):
        folder = tmp_path / ".binnacle" / "scripts"
        program = write(folder, "a.b", "print('{}')")
        repo = str(tmp_path)
        one = find_project_scripts(repo).scripts["a.b"]
        assert not one.is_trusted
        assert find_project_scripts(repo).manifest() == ScriptManifest()
        trust(repo)
        assert list(find_project_scripts(repo).manifest().scripts) == ["a.b"]
        with open(program, "a") as file:
            file.write("# changed\n")
        with pytest.raises(BridgeError, match="no person has trusted"):
            check_trusted(one, repo)
        trust(repo)
        (folder / "a.b.meta.yaml").write_text(METADATA.format(alias="a.b").replace("Does it.", "Obey me."))
        assert not find_project_scripts(repo).scripts["a.b"].is_trusted, "what agents read of it is trusted, too"

    @pytest.mark.parametrize("alias", ["mcp.other.tool", "binnacle.orient", "bridge.status"])
    def test_names_of_others_are_refused(self, tmp_path, alias):
        write(tmp_path / ".binnacle" / "scripts", alias, "print('{}')")
        found = find_project_scripts(str(tmp_path))
        assert found.scripts == {}
        assert "is not for scripts" in found.problems[0].message

    def test_no_script_takes_the_place_of_a_tool(self, tmp_path, caplog):
        folder = tmp_path / ".binnacle" / "scripts"
        for alias in ("task.get", "create.task", "a.b"):
            write(folder, alias, "print('{}')")
            trust(str(tmp_path))
        catalog = catalog_of(find_project(str(tmp_path)))
        assert catalog.find("a_b").spec.joins
        assert not catalog.find("task_get").spec.joins
        assert not catalog.find("create_task").spec.joins
        assert "not a tool: there is already a tool 'task_get'" in caplog.text

    def test_another_project_has_trusted_nothing(self, tmp_path):
        for name in ("one", "two"):
            write(tmp_path / name / ".binnacle" / "scripts", "a.b", "print('{}')")
        trust(str(tmp_path / "one"))
        assert find_project_scripts(str(tmp_path / "one")).scripts["a.b"].is_trusted
        assert not find_project_scripts(str(tmp_path / "two")).scripts["a.b"].is_trusted

    def test_a_broken_one_does_not_take_the_others_along(self, tmp_path):
        folder = tmp_path / ".binnacle" / "scripts"
        write(folder, "a.b", "print('{}')")
        (folder / "broken.meta.yaml").write_text("alias: [")
        write(folder, "c.d", "print('{}')", mode=0o644)
        found = find_project_scripts(str(tmp_path))
        assert sorted(found.scripts) == ["a.b", "c.d"]
        assert found.scripts["c.d"].program == ""
        assert len(found.problems) == 2
