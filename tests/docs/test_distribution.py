"""The name under which the package index knows Binnacle, wherever one is told to install it."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

from binnacle import DISTRIBUTION

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TAKEN = ("binnacle", "binnacle-mcp")
"""Packages of other people on the index."""

WITH_EXTRAS = re.compile(r"(?<![\w./-])(binnacle(?:-\w+)*)\[([a-z,]+)\]")
INSTALLED = re.compile(
    r"(?:pip3? install|pipx (?:install|run)|uv tool (?:install|run)|uvx|uv add) (?:-\S+ )*'?(binnacle[\w-]*)"
)


def texts() -> dict[str, str]:
    """Every tracked file that a user or an agent may read something in."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, timeout=60).stdout
    paths = [ROOT / name for name in names.decode().split("\0") if name.endswith((".py", ".md", ".ts", ".sh", ".toml"))]
    return {str(path): path.read_text() for path in paths if path.is_file() and path != Path(__file__)}


def test_the_package_has_the_name_that_hints_use():
    assert PROJECT["name"] == DISTRIBUTION
    assert DISTRIBUTION not in TAKEN


def test_every_page_and_hint_installs_our_own_package_with_extras_it_has():
    found = [(path, *match) for path, text in texts().items() for match in WITH_EXTRAS.findall(text)]
    assert {extra for *_, extras in found for extra in extras.split(",")} >= {"postgres", "debug", "keyring"}
    for path, name, extras in found:
        assert name == DISTRIBUTION, path
        assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"]), path


def test_nothing_tells_to_install_a_package_of_somebody_else():
    for path, text in texts().items():
        assert set(INSTALLED.findall(text)) <= {DISTRIBUTION}, path


def test_a_wheel_of_that_name_holds_the_command(tmp_path):
    build = "import sys; from flit_core.buildapi import build_wheel; print(build_wheel(sys.argv[1]))"
    argv = [sys.executable, "-c", build, str(tmp_path)]
    name = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True).stdout.strip()
    assert name.startswith(f"{DISTRIBUTION.replace('-', '_')}-")
    with ZipFile(tmp_path / name) as wheel:
        assert "binnacle/cli/main.py" in wheel.namelist()
        assert "binnacle/web/assets/index.html" in wheel.namelist()
        index = wheel.read("binnacle/web/assets/index.html").decode()
        files = re.findall(r'"/(assets/[^"]+)"', index)
        assert len(files) >= 2
        assert {f"binnacle/web/{name}" for name in files} <= set(wheel.namelist())
        (entry,) = (one for one in wheel.namelist() if one.endswith("entry_points.txt"))
        assert "bn=binnacle.cli.main:run" in wheel.read(entry).decode()


def test_a_missing_database_driver_is_installed_by_the_name_of_our_package():
    code = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from binnacle.errors import ConfigError\n"
        "try: import binnacle.store.engines.postgres\n"
        "except ConfigError as error: print(error.hint)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True).stdout
    assert f"pip install '{DISTRIBUTION}[postgres]'" in shown


def test_a_missing_debugger_is_installed_by_the_name_of_our_package():
    from binnacle.bridge.debug.adapters import PYTHON

    assert f"pip install '{DISTRIBUTION}[debug]'" in PYTHON.install
