"""The built page that is shipped is what its sources make."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "page"
SHIPPED = ROOT / "src/binnacle/web/assets"

pytestmark = [pytest.mark.peers, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A copy of the sources with what builds them."""
    folder = tmp_path_factory.mktemp("page")
    shutil.copytree(SOURCES, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_modules"))
    if (SOURCES / "node_modules").is_dir():
        shutil.copytree(SOURCES / "node_modules", folder / "node_modules", symlinks=True)
    run(folder, "npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error")
    return folder


def run(folder: Path, *command: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def read(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_shipped_page_is_what_the_sources_make(sources, tmp_path):
    run(sources, "node", "build.mjs", "--out", str(tmp_path / "built"))
    built, shipped = read(tmp_path / "built"), read(SHIPPED)
    assert sorted(built) == sorted(shipped), "run: make page"
    assert built == shipped, "run: make page"


def test_the_sources_have_no_type_error(sources):
    run(sources, "node_modules/.bin/tsc", "--noEmit")
