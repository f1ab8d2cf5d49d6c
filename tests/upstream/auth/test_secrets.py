"""Logins are kept for their owner only, whole or not at all, by one process at a time."""

import asyncio
import os
import stat
import threading

import pytest

from binnacle.errors import ConfigError, UpstreamDown
from binnacle.upstream.auth import secret_store
from binnacle.upstream.auth.secret_store import FileSecrets, KeyringSecrets, open_secrets
from upstream.auth.person import run


def mode(path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


def test_only_the_owner_may_read_logins(tmp_path):
    async def main():
        before = os.umask(0)
        try:
            folder = tmp_path / "config" / "logins"
            kept = FileSecrets(str(folder))
            assert await kept.load("a") is None
            await kept.save("a", "one")
            async with kept.exclusive("a"):
                await kept.save("a", "two")
        finally:
            os.umask(before)
        assert await kept.load("a") == "two"
        assert mode(folder) == 0o700
        assert {name: mode(folder / name) for name in os.listdir(folder)} == {"a.json": 0o600, "a.json.lock": 0o600}

    run(main())


def test_modes_that_were_opened_are_closed_again(tmp_path):
    async def main():
        kept = FileSecrets(str(tmp_path / "logins"))
        await kept.save("a", "one")
        os.chmod(tmp_path / "logins", 0o755)
        os.chmod(tmp_path / "logins" / "a.json", 0o644)
        assert await kept.load("a") == "one"
        assert mode(tmp_path / "logins" / "a.json") == 0o600
        await kept.save("b", "two")
        assert mode(tmp_path / "logins") == 0o700

    run(main())


def test_a_link_is_not_followed(tmp_path):
    async def main():
        kept = FileSecrets(str(tmp_path))
        (tmp_path / "elsewhere").write_text("planted")
        (tmp_path / "a.json").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(ConfigError):
            await kept.load("a")
        await kept.save("a", "mine")
        assert (tmp_path / "elsewhere").read_text() == "planted"
        assert await kept.load("a") == "mine"

    run(main())


def test_keys_cannot_leave_the_folder(tmp_path):
    async def main():
        kept = FileSecrets(str(tmp_path / "logins"))
        await kept.save("../../evil", "one")
        assert await kept.load("../../evil") == "one"
        assert os.listdir(tmp_path) == ["logins"]

    run(main())


def test_forgetting_says_whether_there_was_something(tmp_path):
    async def main():
        kept = FileSecrets(str(tmp_path))
        await kept.save("a", "one")
        assert await kept.forget("a")
        assert not await kept.forget("a")
        assert await kept.load("a") is None

    run(main())


def test_what_cannot_be_written_says_where(tmp_path):
    async def main():
        (tmp_path / "file").write_text("")
        with pytest.raises(ConfigError, match="file/logins"):
            await FileSecrets(str(tmp_path / "file" / "logins")).save("a", "secret-value")

    run(main())


def test_one_at_a_time_and_not_for_ever(tmp_path, monkeypatch):
    async def main():
        one, other = FileSecrets(str(tmp_path)), FileSecrets(str(tmp_path))
        inside: list[str] = []

        async def enter(kept: FileSecrets, name: str) -> None:
            async with kept.exclusive("a"):
                inside.append(name)
                await asyncio.sleep(0)
                assert inside == [name]
                inside.remove(name)

        await asyncio.gather(*(enter(kept, str(index)) for index, kept in enumerate((one, other) * 5)))
        monkeypatch.setattr(secret_store, "LOCK_WAIT_SECONDS", 0.0)
        async with one.exclusive("a"):
            async with other.exclusive("b"):
                pass
            with pytest.raises(UpstreamDown, match="another process"):
                async with other.exclusive("a"):
                    pass

    run(main())


def test_a_cancelled_wait_holds_nothing(tmp_path):
    async def main():
        kept = FileSecrets(str(tmp_path))
        descriptors = len(os.listdir("/proc/self/fd"))

        async def enter() -> None:
            async with kept.exclusive("a"):
                pass

        async with kept.exclusive("a"):
            waiting = asyncio.create_task(enter())
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
        assert len(os.listdir("/proc/self/fd")) == descriptors
        await enter()

    run(main())


def test_logins_are_among_the_persons_own_configuration(tmp_path):
    async def main():
        kept = open_secrets({"XDG_CONFIG_HOME": str(tmp_path)})
        assert str(tmp_path / "binnacle" / "logins") in kept.where or "keyring" in kept.where

    run(main())


class Vault:
    """A keyring in memory, with the methods that backends of the package `keyring` have."""

    name = "vault"

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}
        self.is_broken = False
        self.hangs: threading.Event | None = None

    def get_password(self, service: str, key: str) -> str | None:
        self._work()
        return self.kept.get((service, key))

    def set_password(self, service: str, key: str, secret: str) -> None:
        self._work()
        self.kept[service, key] = secret

    def delete_password(self, service: str, key: str) -> None:
        self._work()
        del self.kept[service, key]

    def _work(self) -> None:
        if self.hangs is not None:
            self.hangs.wait()
        if self.is_broken:
            raise RuntimeError("locked")


def test_a_keyring_is_used_and_leaves_nothing_in_files(tmp_path):
    async def main():
        files, vault = FileSecrets(str(tmp_path)), Vault()
        kept = KeyringSecrets(lambda: vault, files)
        await files.save("a", "from before there was a keyring")
        assert await kept.load("a") == "from before there was a keyring"
        await kept.save("a", "new")
        assert await files.load("a") is None
        assert vault.kept == {("binnacle", "a"): "new"}
        assert kept.where == "in the system's keyring (vault)"
        assert await kept.forget("a")
        assert not await kept.forget("a")
        assert await kept.load("a") is None

    run(main())


@pytest.mark.parametrize("hangs", [False, True])
def test_a_keyring_that_fails_is_replaced_by_files_and_that_is_said(tmp_path, monkeypatch, hangs):
    monkeypatch.setattr(secret_store, "KEYRING_SECONDS", 0.05)

    async def main():
        vault = Vault()
        vault.is_broken = not hangs
        vault.hangs = threading.Event() if hangs else None
        kept = KeyringSecrets(lambda: vault, FileSecrets(str(tmp_path)))
        try:
            await kept.save("a", "new")
            assert "plain text" in kept.where
            assert await kept.load("a") == "new"
            vault.kept["binnacle", "a"] = "old"  # which could not be replaced
            assert await kept.load("a") == "new"
        finally:
            if vault.hangs is not None:
                vault.hangs.set()

    run(main())
