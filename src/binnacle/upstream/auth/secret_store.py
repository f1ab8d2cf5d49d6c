"""Where logins are kept: in the system's keyring where there is one, else in files that only their owner may read.

Each login is a short text under a key. A renewal holds the login's lock, against this process and all others.
"""

import asyncio
import contextlib
import os
import re
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from importlib.util import find_spec
from typing import Any, Protocol, TypeVar

from binnacle.config.atomic_write import write_atomically
from binnacle.config.file_lock import wait_for_lock_async
from binnacle.config.private_files import make_private_folder
from binnacle.errors import ConfigError, UpstreamDown
from binnacle.upstream.configuration.config_paths import logins_folder

LOCK_WAIT_SECONDS = 60.0
"""Seconds to wait for a lock: as long as a renewal can take, and some more."""

KEYRING_SECONDS = 30.0
"""Seconds for the keyring, which may ask a person to unlock it."""

KEYRING_SERVICE = "binnacle"
"""The name under which the keyring shows our entries."""

T = TypeVar("T")


class SecretStore(Protocol):
    """Keeps secrets by key, between processes and restarts."""

    @property
    def where(self) -> str:
        """Where secrets are saved now, for people, and whether that is plain text."""

    async def load(self, key: str) -> str | None:
        """What is kept under a key.

        Raises:
            ConfigError: it cannot be read.
        """

    async def save(self, key: str, secret: str) -> None:
        """Replaces the secret under a key, in one step.

        Raises:
            ConfigError: it cannot be kept.
        """

    async def forget(self, key: str) -> bool:
        """Removes what is kept under a key. Returns whether there was something."""

    def exclusive(self, key: str) -> AbstractAsyncContextManager[None]:
        """A block that only one caller in all processes runs at a time for the same key.

        Raises:
            UpstreamDown: another one took too long.
        """


class FileSecrets:
    """Secrets as plain text, each in a file that only its owner may read."""

    def __init__(self, folder: str) -> None:
        """`folder` is made when there is something to keep."""
        self._folder = folder

    @property
    def where(self) -> str:
        return f"as plain text in {self._folder}, readable for you only"

    async def load(self, key: str) -> str | None:
        path = self._path(key)
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unusable(path, error) from error
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            if found.st_uid != os.geteuid():
                raise ConfigError(f"it belongs to another user: {path}", hint="remove it, and sign in again")
            if found.st_mode & 0o077:
                with contextlib.suppress(OSError):  # a file system without modes
                    os.fchmod(handle, 0o600)
            return file.read().decode(errors="replace")

    async def save(self, key: str, secret: str) -> None:
        path = self._path(key)
        try:
            self._make_folder()
            write_atomically(path, secret.encode(), is_lasting=True)
        except OSError as error:
            raise _unusable(path, error) from error

    async def forget(self, key: str) -> bool:
        path = self._path(key)
        try:
            os.unlink(path)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise _unusable(path, error) from error
        return True

    @contextlib.asynccontextmanager
    async def exclusive(self, key: str) -> AsyncIterator[None]:
        path = f"{self._path(key)}.lock"
        try:
            self._make_folder()
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise _unusable(path, error) from error
        try:
            await _lock(handle, path)
            yield
        finally:
            os.close(handle)

    def _path(self, key: str) -> str:
        return os.path.join(self._folder, f"{re.sub(r'[^A-Za-z0-9_-]', '_', key)}.json")

    def _make_folder(self) -> None:
        make_private_folder(self._folder)


class KeyringSecrets:
    """Secrets in the system's keyring, or in files if it cannot keep them. Locks are always files."""

    def __init__(self, find: Callable[[], Any | None], files: FileSecrets) -> None:
        """`find` returns a backend of the package `keyring`, or None.

        It runs in a thread when it is first needed: looking for a keyring would block a server for too long.
        """
        self._find = find
        self._files = files
        self._backend: Any | None = None
        self._is_looked_for = False
        self._is_failing = False

    @property
    def where(self) -> str:
        if self._backend is None or self._is_failing:
            return self._files.where
        return f"in the system's keyring ({self._backend.name})"

    async def load(self, key: str) -> str | None:
        # A file exists only if the keyring did not accept its content, so the file is newer.
        found = await self._files.load(key)
        return (
            found if found is not None else await self._ask(lambda backend: backend.get_password(KEYRING_SERVICE, key))
        )

    async def save(self, key: str, secret: str) -> None:
        def keep(backend: Any) -> bool:
            backend.set_password(KEYRING_SERVICE, key, secret)
            return True

        self._is_failing = not await self._ask(keep)
        if self._is_failing:
            await self._files.save(key, secret)
        else:
            await self._files.forget(key)

    async def forget(self, key: str) -> bool:
        was_in_keyring = await self._ask(lambda backend: _remove(backend, key))
        return await self._files.forget(key) or bool(was_in_keyring)

    def exclusive(self, key: str) -> AbstractAsyncContextManager[None]:
        return self._files.exclusive(key)

    async def _ask(self, question: Callable[[Any], T]) -> T | None:
        """The keyring's answer; None if it has none, is locked or does not answer, or if there is no keyring."""

        def ask() -> T | None:
            if not self._is_looked_for:
                self._backend, self._is_looked_for = self._find(), True
            return None if self._backend is None else question(self._backend)

        try:
            async with asyncio.timeout(KEYRING_SECONDS):
                return await _in_thread(ask)
        except TimeoutError:
            return None
        # A backend may raise anything: of keyring, of D-Bus, of the system. Then we use files.
        except Exception:  # noqa: BLE001
            return None


def open_secrets(environ: Mapping[str, str] | None = None) -> SecretStore:
    """Where this person's logins are kept."""
    files = FileSecrets(logins_folder(environ))
    return KeyringSecrets(_usable_keyring, files) if find_spec("keyring") else files


def _usable_keyring() -> Any | None:
    """The system's keyring, if the package `keyring` finds one that keeps secrets."""
    import keyring

    try:
        backend = keyring.get_keyring()
        is_usable = backend.priority > 0
    # Looking for a keyring runs code of backends, which may fail in any way on a machine without a desktop.
    except Exception:  # noqa: BLE001
        return None
    module = type(backend).__module__
    # `null` forgets everything, `fail` raises, and those of `keyrings.alt` are plain files.
    return backend if is_usable and not module.startswith(("keyring.backends.null", "keyrings.alt.file")) else None


def _remove(backend: Any, key: str) -> bool:
    if backend.get_password(KEYRING_SERVICE, key) is None:
        return False
    backend.delete_password(KEYRING_SERVICE, key)
    return True


async def _lock(handle: int, path: str) -> None:
    try:
        await wait_for_lock_async(handle, timeout_seconds=LOCK_WAIT_SECONDS)
    except TimeoutError:
        raise UpstreamDown(
            f"another process renews this login since {LOCK_WAIT_SECONDS:g} s: {path}", hint="try again"
        ) from None


async def _in_thread(question: Callable[[], T]) -> T:
    """Asks in a daemon thread, because a keyring may never answer."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, error: Exception | None) -> None:
        if answer.done():
            return
        if error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(value)  # type: ignore[arg-type]

    def ask() -> None:
        value, failure = None, None
        try:
            value = question()
        except Exception as error:  # noqa: BLE001 - raised again where it is waited for
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop is closed: no caller waits
            loop.call_soon_threadsafe(settle, value, failure)

    threading.Thread(target=ask, name="keyring", daemon=True).start()
    return await answer


def _unusable(path: str, error: OSError) -> ConfigError:
    return ConfigError(
        f"cannot keep or read a login in {path}: {error.strerror}", hint="check permissions and free space"
    )
