"""Logins in a real keyring: GNOME's, on a session bus of its own, through the package `keyring`."""

import asyncio
import contextlib
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.conftest import Bn, bn  # noqa: F401 - the fixture
from cli.test_upstream_live import beside
from server.clients import Server, wait_for
from server.peers import installed
from server.upstreams.servers import Servers
from upstream.auth import browser
from upstream.auth.provider import Provider

HERE = Path(__file__).parent / "keyring"
IN_KEYRING = "in the system's keyring (SecretService Keyring)"

pytestmark = pytest.mark.peers


def find_keyring() -> tuple[str, dict[str, str]]:
    """The keyring's program and what it needs in its environment: the system's, or one from Debian."""
    if found := shutil.which("gnome-keyring-daemon"):
        return found, {}
    root = installed.debian_packages(HERE / "packages.txt")
    (library,) = root.glob("usr/lib/*/libgck-1.so.0")
    return str(root / "usr" / "bin" / "gnome-keyring-daemon"), {"LD_LIBRARY_PATH": str(library.parent)}


@contextlib.contextmanager
def keyring(home: Path, *, password: str | None) -> Iterator[dict[str, str]]:
    """What a program needs in its environment to find a keyring; without a password it stays locked."""
    program, more = find_keyring()
    runtime = home / "run"
    runtime.mkdir(parents=True, exist_ok=True, mode=0o700)
    env = {"HOME": str(home), "XDG_DATA_HOME": str(home / "data"), "XDG_RUNTIME_DIR": str(runtime)}
    with Server(command=["dbus-daemon", "--session", "--nofork", "--print-address"], env=env) as bus:
        assert bus.process.stdout is not None
        env["DBUS_SESSION_BUS_ADDRESS"] = bus.process.stdout.readline().decode().strip()
        words = ["--foreground", "--components=secrets", *(["--unlock"] if password else [])]
        with Server(command=[program, *words], env={**env, **more}) as daemon:
            assert daemon.process.stdin is not None
            daemon.process.stdin.write((password or "").encode())
            daemon.process.stdin.close()
            wait_for(lambda: is_there(env), "the keyring does not come")
            yield {**env, "PYTHONPATH": str(installed.python_packages(HERE / "requirements.txt"))}


def is_there(env: dict[str, str]) -> bool:
    asked = ["org.freedesktop.DBus.NameHasOwner", "string:org.freedesktop.secrets"]
    command = ["dbus-send", "--session", "--print-reply", "--dest=org.freedesktop.DBus", "/", *asked]
    return "true" in subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False).stdout


def test_a_login_is_kept_in_it_and_nowhere_else(bn, tmp_path):  # noqa: F811
    async def main(env: dict[str, str]) -> None:
        async with Provider() as provider:
            Servers(bn)(crm={"url": provider.url, "auth": {"type": "oauth"}})
            done = await beside(bn, "upstream", "login", "crm", env=env)
            assert done.code == 0, done.err
            assert done.json["kept"] == IN_KEYRING
            (token,) = provider.refresh
            assert files_with(token, tmp_path) == []
            assert list((tmp_path / "home" / "data" / "keyrings").iterdir())
            signed_out = await beside(bn, "upstream", "logout", "crm", env=env)
            assert signed_out.json == {"name": "crm", "was_there": True}
            assert not provider.refresh, "another process did not find it there"

    run(bn, main, tmp_path, password="open sesame")


def test_one_that_is_locked_is_replaced_by_files_and_that_is_said(bn, tmp_path):  # noqa: F811
    async def main(env: dict[str, str]) -> None:
        async with Provider() as provider:
            Servers(bn)(crm={"url": provider.url, "auth": {"type": "oauth"}})
            done = await beside(bn, "upstream", "login", "crm", env=env)
            assert done.code == 0, done.err
            assert "plain text" in done.json["kept"]
            (token,) = provider.refresh
            assert len(files_with(token, tmp_path)) == 1
            assert (await beside(bn, "upstream", "logout", "crm", env=env)).json["was_there"]
            assert files_with(token, tmp_path) == []

    with keyring(tmp_path / "home", password="open sesame"):
        pass  # so that there is one to be locked
    run(bn, main, tmp_path, password=None)


def run(bn: Bn, main, tmp_path: Path, *, password: str | None) -> None:  # noqa: F811
    opens = {"BROWSER": shlex.join([sys.executable, browser.__file__, "%s"])}
    with keyring(tmp_path / "home", password=password) as env:
        given = {name: value for name, value in env.items() if name != "HOME"}
        asyncio.run(asyncio.wait_for(main({**bn.env, **given, **opens}), 120))


def files_with(secret: str, folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
