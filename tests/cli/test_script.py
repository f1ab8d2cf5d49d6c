"""`bn script`: scripts from the shell, and your own as tools of a session that goes on."""

import json

import pytest

from cli.test_mcp import Client
from cli.test_upstream import on_a_terminal


@pytest.fixture
def folder(bn):
    return bn.repo / ".binnacle" / "scripts"


@pytest.mark.parametrize("kind", ["--python", "--sh"])
def test_a_new_script_runs_at_once_for_a_person(bn, kind):
    made = bn("script", "new", "say.hello", kind)
    assert "bn trust script:say.hello" in made["next"]
    answer = bn("script", "run", "say.hello", "-p", "who=ann")
    assert answer["ok"]
    assert answer["data"]["greeting"].startswith("hello")
    assert "hello" in bn.human("script", "run", "say_hello")


def test_a_name_that_is_taken_or_none_is_refused(bn):
    bn("script", "new", "say.hello")
    assert bn.fails("script", "new", "say.hello")["code"] == "E_DUPLICATE"
    assert bn.fails("script", "new", "say-hello")["code"] == "E_DUPLICATE", "its tool would have the same name"
    assert bn.fails("script", "new", "debug.start")["code"] == "E_DUPLICATE"
    assert bn.fails("script", "new", "task.add")["code"] == "E_DUPLICATE"
    assert bn.fails("script", "new", "mcp.a.b")["code"] == "E_INVALID_PARAMS"
    assert bn.fails("script", "new", "../evil")["code"] == "E_INVALID_PARAMS"
    assert bn.fails("script", "new", "a.b", "--sh", "--python", code=2)["code"] == "E_USAGE"


def test_nobody_runs_it_as_it_is_not_trusted(bn, folder):
    bn("script", "new", "say.hello")
    (folder / "say.hello.py").write_text("#!/usr/bin/env python3\nprint('{}')\n")
    agent = bn.agent("bob")
    for env in (bn.env, agent):
        done = bn.run("script", "run", "say.hello", env=env)
        assert (done.code, done.json["error"]["code"]) == (1, "E_UNAUTHORIZED")
        assert "bn trust script:say.hello" in done.json["error"]["hint"]
    assert bn.fails("trust", "say.hello", "--yes", env=agent)["code"] == "E_PERSON_NEEDED"
    assert bn.by_person("trust", "say.hello", "--yes")["trusted"] == ["script:say.hello"]
    assert bn("script", "run", "say.hello", env=agent)["ok"]


def test_all_of_a_script_and_its_metadata_is_shown(bn, folder):
    bn("script", "new", "say.hello")
    (folder / "say.hello.py").write_text("#!/bin/sh\n" + "# x\n" * 4000 + "evil\n")
    _, seen = on_a_terminal(bn, "trust", "-H", answers="n\n")
    assert "evil" in seen
    bn.by_person("trust", "revoke")
    _, seen = on_a_terminal(bn, "trust", "-H", answers="n\n")
    assert "evil" in seen
    assert "Tell here when an agent should use it." in seen


def test_parameters_are_checked_as_for_an_agent(bn, folder):
    bn("script", "new", "say.hello")
    done = bn.run("script", "run", "say.hello", "-p", "woh=ann")
    assert done.code == 1
    assert "did you mean 'who'?" in done.json["error"]["hint"]
    assert bn.fails("script", "run", "say.hello", "-p", "who")["code"] == "E_INVALID_PARAMS"
    assert bn("script", "run", "say.hello", '{"who": "bo"}')["data"]["greeting"] == "hello, bo"
    done = bn.run("script", "run", "say.hello", '{"who": ""}', "-H")
    assert done.err.splitlines()[-2:] == ["[E_INVALID_PARAMS] nobody to greet", "hint: give who"]


def test_lists_are_given_item_by_item_or_as_json(bn, folder):
    bn("script", "new", "say.hello")
    file = folder / "say.hello.meta.yaml"
    file.write_text(file.read_text().replace("params:\n", "params:\n  tags: {type: array, items: {type: string}}\n"))
    program = folder / "say.hello.py"
    program.write_text("#!/bin/sh\ncat\n")
    bn.by_person("trust", "--yes")
    one_by_one = bn("script", "run", "say.hello", "-p", "tags=a", "-p", "tags=b")
    assert one_by_one["data"]["tags"] == bn("script", "run", "say.hello", "-p", 'tags=["a","b"]')["data"]["tags"]


def test_the_list_shows_the_project_s_own_first_and_what_is_wrong(bn, folder):
    bn("script", "new", "say.hello")
    bn.by_person("trust", "revoke")
    (folder / "bad.meta.yaml").write_text("alias: bad\nname: x\ncategory: y\ndescripton: z\n")
    answer = bn("script", "list")
    assert answer["scripts"][0]["tool"] == "say_hello"
    assert answer["scripts"][0]["state"] == "not trusted"
    assert len(answer["scripts"]) > 40
    assert "bad.meta.yaml:4: unknown key 'descripton'" in answer["problems"][0]["message"]
    shown = bn.human("script", "list")
    assert "did you mean 'description'?" in shown
    assert "bn trust script:say.hello" in shown


def test_what_a_script_takes_is_shown(bn):
    answer = bn("script", "info", "debug_start")
    assert answer["metadata"]["alias"] == "debug.start"
    assert "program" in answer["schema"]["properties"]
    assert "debug.start (debug_start)" in bn.human("script", "info", "debug.start")
    error = bn.fails("script", "info", "debug.strat")
    assert "'debug.start'" in error["hint"]


def test_build_checks_everything_and_writes_the_manifest(bn, folder):
    bn("script", "new", "say.hello")
    answer = bn("script", "build")
    assert (answer["scripts"], answer["written"]) == (1, True)
    written = json.loads((folder / "manifest.json").read_text())
    assert written["scripts"]["say.hello"]["scriptRelPath"] == "say.hello.py"
    assert bn("script", "build", str(folder))["written"] is False
    (folder / "other.meta.yaml").write_text("alias: say-hello\nname: x\ncategory: y\ndescription: z\n")
    done = bn.run("script", "build")
    assert done.code == 1
    assert "'say_hello'" in done.json["problems"][0]["message"]
    assert bn.fails("script", "build", "nowhere")["code"] == "E_NOT_FOUND"


def test_a_script_joins_a_session_when_it_is_trusted_and_leaves_it_when_it_is_changed(bn, folder):
    bn("script", "new", "say.hello")
    bn.by_person("trust", "revoke")
    client = Client(bn)

    def listed():
        return {one["name"]: one for one in client.ask("tools/list")["tools"]}

    def wait_for_change():
        while client.receive().get("method") != "notifications/tools/list_changed":
            pass

    try:
        client.notify("notifications/initialized")
        assert "say_hello" not in listed(), "nobody has trusted it"
        client.text("project_info")
        bn.by_person("trust", "say.hello", "--yes")
        wait_for_change()
        assert "Says hello." in listed()["say_hello"]["description"]
        assert client.data("say_hello", who="ann") == {"greeting": "hello, ann"}
        error = client.tool("say_hello", who="")
        assert error["isError"]
        assert error["content"][0]["text"] == "[E_INVALID_PARAMS] nobody to greet\nhint: give who"
        with (folder / "say.hello.py").open("a") as file:
            file.write("# changed\n")
        wait_for_change()
        assert "say_hello" not in listed()
    finally:
        client.end()
