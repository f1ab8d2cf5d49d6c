"""A real VS Code for tests: code-server with our extension, and a browser that shows it."""

import contextlib
import fcntl
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Self

from binnacle.bridge.jobs.job_files import read_host
from binnacle.bridge.jobs.protocol import HostInfo
from server.peers import installed

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
BN = str(Path(sys.executable).with_name("bn"))
WITHIN = 240.0
"""Seconds until a window serves its workspace. Ten do where nobody else computes."""

DEBIAN = (
    "chromium",
    "chromium-sandbox",
    "libkrb5-dev",
    "libsecret-1-dev",
    "libxkbfile-dev",
    "pkg-config",
    "g++",
    "make",
)
"""The browser, and what code-server's own parts are built with."""

SETTINGS = {
    "chat.disableAIFeatures": True,
    "debug.internalConsoleOptions": "neverOpen",
    "debug.openDebug": "neverOpen",
    "extensions.autoCheckUpdates": False,
    "files.autoSave": "off",
    "git.enabled": False,
    "remote.autoForwardPorts": False,
    "security.workspace.trust.enabled": False,
    "telemetry.telemetryLevel": "off",
    "workbench.startupEditor": "none",
}


def need_debian_packages() -> None:
    """Installs what is missing, where we may.

    Raises:
        RuntimeError: we may not; says what to install.
    """
    if shutil.which("chromium") and Path("/usr/include/gssapi.h").exists():
        return
    words = ["apt-get", "install", "-y", "--no-install-recommends", *DEBIAN]
    if os.geteuid() or not shutil.which("apt-get"):
        raise RuntimeError(f"the tests of the editor need a browser and libraries; install them: {' '.join(words)}")
    env = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=900, check=False)
    if done.returncode:
        raise RuntimeError(f"cannot install a browser: {' '.join(words)}\n{done.stderr[-2000:]}")


def node() -> Path:
    return Path(installed.node())


def code_server() -> Path:
    """The program of a real VS Code."""
    need_debian_packages()
    place = installed.node_modules(HERE / "package.json", node=node())
    return place / "code-server" / "out" / "node" / "entry.js"


def build_extension() -> None:
    """Makes our extension what the sources say now."""
    with (ROOT / "editors" / "vscode" / "pack.py").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # test processes come here side by side
        subprocess.run(["make", "--no-print-directory", "vsix"], cwd=ROOT, check=True, timeout=600, stdout=sys.stderr)


class Editor:
    """A window on a workspace. Leaving it ends everything that was started for it."""

    def __init__(self, workspace: Path, folder: Path, env: dict[str, str]) -> None:
        self.workspace = workspace
        self._folder = folder
        self._mark = uuid.uuid4().hex
        self._env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))}
        self._env["PYTEST_DEBUG_TEMPROOT"] = os.environ[
            "PYTEST_DEBUG_TEMPROOT"
        ]  # where a debugged pytest has its folders
        self._env |= {"PATH": f"{node().parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder), **env}
        self._env |= {"BN_TEST_EDITOR": self._mark}
        self.server: subprocess.Popen[bytes] | None = None
        self.browser: subprocess.Popen[bytes] | None = None
        self._port = 0

    def __enter__(self) -> Self:
        try:
            self.install()
            self.open_server()
            self.open_browser()
            self.wait_until_served()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def install(self) -> None:
        """As a person does: by a command that knows this editor."""
        build_extension()
        settings = self._folder / "data" / "User" / "settings.json"
        settings.parent.mkdir(parents=True)
        settings.write_text(json.dumps(SETTINGS))
        command = self._folder / "code-server"
        command.write_text(f'#!/bin/sh\nexec {shlex.join(self._words())} "$@"\n')
        command.chmod(0o755)
        words = [BN, "bridge", "install-vscode", "--editor", str(command)]
        subprocess.run(words, cwd=self.workspace, env=self._env, check=True, timeout=120, stdout=sys.stderr)

    def _words(self) -> list[str]:
        places = {"config": "config.yaml", "user-data-dir": "data", "extensions-dir": "extensions"}
        flags = [word for name, place in places.items() for word in (f"--{name}", str(self._folder / place))]
        return [str(node()), str(code_server()), *flags]

    def open_server(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as found:
            self._port = found.getsockname()[1]
        quiet = ["--disable-telemetry", "--disable-update-check", "--disable-workspace-trust", "--auth", "none"]
        self.server = self._start("server", [*self._words(), *quiet, "--bind-addr", f"127.0.0.1:{self._port}"])
        end = time.monotonic() + WITHIN
        while True:
            with contextlib.suppress(OSError), urllib.request.urlopen(f"{self._url}/healthz", timeout=5):
                return
            assert self.server.poll() is None, self.said("server")
            assert time.monotonic() < end, self.said("server")
            time.sleep(0.05)

    @property
    def _url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def open_browser(self) -> None:
        quiet = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions"]
        awake = [
            "--disable-background-networking",
            "--disable-background-timer-throttling",
            "--disable-backgrounding-occluded-windows",
            "--disable-dev-shm-usage",
            "--disable-renderer-backgrounding",
        ]
        profile = f"--user-data-dir={self._folder / 'browser'}"
        address = f"{self._url}/?folder={self.workspace}"
        self.browser = self._start("browser", ["chromium", *quiet, *awake, profile, "--window-size=800,600", address])

    def _start(self, name: str, words: list[str]) -> "subprocess.Popen[bytes]":
        with (self._folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                words, env=self._env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )

    def said(self, name: str) -> str:
        return (self._folder / f"{name}.log").read_text(errors="replace")[-4000:]

    def wait_until_served(self) -> HostInfo:
        """The host, once the window serves the workspace."""
        end = time.monotonic() + WITHIN
        while True:
            host = read_host(str(self.workspace))
            if host is not None and host.kind == "vscode" and host.is_alive():
                return host
            said = f"{self.said('server')}\n{self.said('browser')}"
            assert self.browser is not None
            assert self.browser.poll() is None, said
            assert time.monotonic() < end, f"the window does not serve {self.workspace}:\n{said}"
            time.sleep(0.05)

    def close_browser(self) -> None:
        """Closes the window. The process of the extensions lives on for hours."""
        if self.browser is not None:
            self._end(self.browser)
            self.browser = None

    def close(self) -> None:
        self.close_browser()
        if self.server is not None:
            self._end(self.server)
        for pid in self._left():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _end(self, process: "subprocess.Popen[bytes]") -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(timeout=10)

    def _left(self) -> list[int]:
        """What was started for this window and left its group: it carries our mark."""
        mark = f"BN_TEST_EDITOR={self._mark}".encode()
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if mark in Path("/proc", name, "environ").read_bytes().split(b"\0"):
                    found.append(int(name))
        return found


@contextlib.contextmanager
def window(workspace: Path, **env: str) -> Iterator[Editor]:
    """A window on a workspace."""
    # Below /tmp: the path of a socket has at most 107 characters.
    with (
        tempfile.TemporaryDirectory(prefix="bn-vsc-", ignore_cleanup_errors=True) as folder,
        Editor(workspace, Path(folder), env) as opened,
    ):
        yield opened
