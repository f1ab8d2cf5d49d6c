"""Scripts are gathered from their metadata; the manifest in the package is what its metadata says."""

import json
import os
import shutil
import subprocess
import sys

import msgspec
import pytest

from binnacle.bridge.manifest import SHIPPED_FOLDER, gather_scripts, read_manifest, shipped_scripts, write_manifest
from binnacle.bridge.metadata import tool_name
from binnacle.errors import ConfigError
from binnacle.plan.recipe_loader import load_recipe
from binnacle.plan.session_plan import SessionSubject, bind, choose
from binnacle.project.project import find_project
from binnacle.project.tool_catalog import catalog_of

SCRIPT = "alias: {alias}\nname: A\ncategory: a\ndescription: Does it.\n"

SEED = {
    "breakpoint.set", "breakpoint.remove", "breakpoint.clear.file", "breakpoint.clear.project", "breakpoint.list",
    "debug.start", "debug.continue", "debug.step-over", "debug.step-into", "debug.step-out", "debug.stop",
    "debug.restart", "debug.status", "debug.stack", "debug.threads", "debug.scopes", "debug.list-variables",
    "debug.get-variable", "debug.set-variable", "debug.save-variable", "debug.evaluate", "debug.wait-for-hit",
    "debug.tracker", "dap.summary", "dap.logs", "dap.search", "dap.exceptions", "dap.timeline", "dap.stats",
    "dap.filter", "dap.compare", "diagnostic.collect", "test.debug-single", "editor.show-testing-ui",
    "util.restart-vscode",
}  # fmt: skip
LATER = {
    "editor.get-context", "editor.goto-line", "search.symbol-search", "symbol.navigate", "symbol.calls",
    "symbol.rename", "code.replace-method",
}  # fmt: skip


def test_the_manifest_in_the_package_is_up_to_date():
    found = gather_scripts(SHIPPED_FOLDER)
    assert found.problems == []
    assert found.manifest.scripts == shipped_scripts().scripts, "run: bn script build src/binnacle/bridge/scripts"


def test_every_script_is_there_with_guidance():
    scripts = shipped_scripts().scripts
    assert len(SEED) == 35
    assert set(scripts) >= SEED | LATER
    for alias, entry in scripts.items():
        about = entry.metadata
        assert about.tool == tool_name(alias)
        assert about.description.endswith("."), alias
        assert set(about.errors) == {one.code for one in about.mcp.error_contract.errors}, alias
        assert all(one.user_fix_hint for one in about.mcp.error_contract.errors), alias
    assert shipped_scripts().by_tool()["breakpoint_add"] == "breakpoint.set"
    assert shipped_scripts().by_tool()["variable_list"] == "debug.list-variables"


def test_every_script_that_the_headless_host_is_said_to_run_it_runs():
    from binnacle.bridge.debug.scripts.script_table import EDITOR_SCRIPTS, SCRIPTS

    said = {alias for alias, entry in shipped_scripts().scripts.items() if "headless" in entry.metadata.hosts}
    assert said == set(SCRIPTS)
    assert set(shipped_scripts().scripts) - said == set(EDITOR_SCRIPTS)
    for alias, (kind, _) in SCRIPTS.items():
        taken = {one.encode_name for one in msgspec.structs.fields(kind)}
        assert taken == set(shipped_scripts().scripts[alias].metadata.params), alias


def test_an_unreadable_manifest_is_an_error(tmp_path):
    for content in ("nonsense", '{"version": 1, "scripts": {}}'):
        (tmp_path / "manifest.json").write_text(content)
        with pytest.raises(ConfigError) as caught:
            read_manifest(str(tmp_path / "manifest.json"))
        assert "bn script build" in caught.value.hint


def test_two_aliases_that_give_one_name_are_refused(tmp_path):
    (tmp_path / "a.meta.yaml").write_text(SCRIPT.format(alias="a.b-c"))
    (tmp_path / "b.meta.yaml").write_text(SCRIPT.format(alias="a.b.c"))
    found = gather_scripts(str(tmp_path))
    assert list(found.manifest.scripts) == ["a.b-c"]
    assert "'a_b_c'" in found.problems[0].message
    assert "a.meta.yaml" in found.problems[0].message


def test_a_script_in_the_box_is_not_replaced(tmp_path):
    (tmp_path / "a.meta.yaml").write_text(SCRIPT.format(alias="debug-start"))
    found = gather_scripts(str(tmp_path), known=shipped_scripts())
    assert found.manifest.scripts == {}
    assert "debug.start" in found.problems[0].message


def test_a_relation_to_nothing_is_refused(tmp_path):
    text = SCRIPT.format(alias="a.b") + "mcp: {relationships: {requires: [debug.strat]}}\n"
    (tmp_path / "a.meta.yaml").write_text(text)
    found = gather_scripts(str(tmp_path), known=shipped_scripts())
    assert found.manifest.scripts == {}
    assert "'debug.start'" in found.problems[0].hint


def test_the_program_beside_the_metadata_is_found(tmp_path):
    for name in ("a.x", "b.x"):
        (tmp_path / f"{name}.meta.yaml").write_text(SCRIPT.format(alias=name))
        (tmp_path / f"{name}.py").write_text("#!/bin/sh\n")
    (tmp_path / "a.x.py").chmod(0o755)
    found = gather_scripts(str(tmp_path)).manifest.scripts
    assert found["a.x"].script_rel_path == "a.x.py"
    assert found["b.x"].script_rel_path == "", "it cannot be executed"


def test_a_manifest_is_written_only_when_it_says_something_new(tmp_path):
    (tmp_path / "a.meta.yaml").write_text(SCRIPT.format(alias="a.b"))
    made = gather_scripts(str(tmp_path)).manifest
    assert write_manifest(str(tmp_path), made, now="2026-01-01T00:00:00Z")
    assert not write_manifest(str(tmp_path), made, now="2026-01-02T00:00:00Z")
    written = json.loads((tmp_path / "manifest.json").read_text())
    assert (written["version"], written["generatedAt"]) == (2, "2026-01-01T00:00:00Z")
    assert written["scripts"]["a.b"] == {
        "metadata": {"alias": "a.b", "name": "A", "category": "a", "description": "Does it."},
        "scriptRelPath": "",
    }
    assert os.listdir(tmp_path) == ["a.meta.yaml", "manifest.json"] or len(os.listdir(tmp_path)) == 2


def test_scripts_in_the_box_load_no_yaml():
    code = "import sys, binnacle.bridge.manifest as m; m.shipped_scripts(); sys.exit('yaml' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0


def test_the_recipe_for_debugging_fits(tmp_path, monkeypatch):
    import msgspec

    monkeypatch.setenv("BN_DATA_DIR", str(tmp_path / "data"))
    git = shutil.which("git")
    subprocess.run([git, "init", "-q", str(tmp_path / "repo")], check=True, timeout=60)
    catalog = catalog_of(find_project(str(tmp_path / "repo")))
    recipe = load_recipe("debug", catalog)
    rules, _ = choose(recipe, catalog, None)
    entries = [one.entry() for one in bind(recipe, rules, catalog, SessionSubject())]
    names = {one["name"] for one in entries}
    assert {"bridge_status", "breakpoint_set", "debug_start", "debug_evaluate", "test_debug_single"} <= names
    assert len(msgspec.json.encode(entries)) <= 20_000
