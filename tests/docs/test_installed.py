"""What `pip install .` puts on a machine works without this checkout, and its extras are those the pages name."""

import os
import re
import subprocess
import sys
from email import message_from_string
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """A folder with the package as a wheel brings it. What it depends on is that of this environment."""
    folder = tmp_path_factory.mktemp("installed")
    words = ["install", "--no-deps", "--no-build-isolation", "--target", str(folder), str(ROOT)]
    subprocess.run([*PIP, *words], check=True, timeout=100, cwd=folder)
    return folder


def test_the_command_works_from_a_wheel(installed, tmp_path):
    env = os.environ | {"PYTHONPATH": str(installed), "BN_DATA_DIR": str(tmp_path / "data"), "HOME": str(tmp_path)}
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True, timeout=60)
    for words in (["--version"], ["task", "add", "Write the page"], ["plan", "show"], ["script", "list"]):
        subprocess.run([str(installed / "bin" / "bn"), *words], cwd=tmp_path, env=env, check=True, timeout=60)
    where = [sys.executable, "-c", "import binnacle; print(binnacle.__file__)"]
    found = subprocess.run(where, cwd=tmp_path, env=env, check=True, timeout=60, capture_output=True, text=True)
    assert found.stdout.startswith(str(installed))


def test_every_extra_that_a_page_names_is_there(installed):
    [file] = installed.glob("*.dist-info/METADATA")
    extras = message_from_string(file.read_text()).get_all("Provides-Extra")
    pages = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/**/*.py")]
    named = {
        name.strip()
        for page in pages
        for words in re.findall(r"pip install [^\n]*\[([a-z, ]+)\]", page.read_text())
        for name in words.split(",")
    }
    assert named
    assert named <= set(extras)
