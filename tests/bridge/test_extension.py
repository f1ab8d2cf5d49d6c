"""The extension for VS Code belongs to this version and its manifest; how it works is tested with a window."""

import importlib.util
import json
import re
from pathlib import Path

import binnacle
from binnacle.bridge.error_codes import ERROR_CODES
from binnacle.bridge.manifest import SHIPPED_FOLDER, shipped_scripts

EDITOR = Path(__file__).parents[2] / "editors" / "vscode"
SOURCES = "".join(path.read_text() for path in sorted((EDITOR / "src").rglob("*.ts")))


def test_it_answers_every_script_and_no_other():
    answered = set(re.findall(r'^  "([a-z]+(?:[.-][a-z]+)+)": \w', SOURCES, re.MULTILINE))
    answered |= set(re.findall(r'SCRIPTS: Record<string, Script> = \{ "([\w.-]+)":', SOURCES))
    assert answered == {alias for alias, one in shipped_scripts().scripts.items() if "vscode" in one.metadata.hosts}


def test_it_carries_the_manifest_and_the_adapter_of_this_package():
    spec = importlib.util.spec_from_file_location("pack", EDITOR / "pack.py")
    pack = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pack)
    assert pack.FILES["dist/manifest.json"].samefile(Path(SHIPPED_FOLDER) / "manifest.json")
    assert pack.FILES["dist/fast_debugpy.py"].samefile(Path(SHIPPED_FOLDER).parent / "debug" / "fast_debugpy.py")
    plugin = "in_program/binnacle_stop_at_failures.py"
    assert pack.FILES[f"dist/{plugin}"].samefile(Path(SHIPPED_FOLDER).parent / "debug" / plugin)
    assert all(file.is_file() for name, file in pack.FILES.items() if name != "dist/extension.js")


def test_it_has_the_version_of_this_package_and_needs_a_trusted_workspace():
    about = json.loads((EDITOR / "package.json").read_text())
    assert about["version"] == binnacle.__version__
    assert about["capabilities"]["untrustedWorkspaces"]["supported"] is False
    assert "dependencies" not in about


def test_every_code_it_answers_with_is_known():
    known = {code for codes in ERROR_CODES.values() for code in codes}
    assert set(re.findall(r'"(E_[A-Z_]+)"', SOURCES)) <= known
