"""Bearer tokens and their names. Each name is an identity and can be revoked alone."""

import logging
import os
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Protocol

import msgspec
from msgspec import Struct

from binnacle.config.access_tokens import digest_of, issue
from binnacle.config.atomic_write import write_atomically
from binnacle.config.clients.foreign_files import locked
from binnacle.config.private_files import make_private_folder
from binnacle.errors import ConfigError, Duplicate, NotFound, NotReady, did_you_mean
from binnacle.work.text import clean_name

_log = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
"""How long a revoked token may still be accepted."""

FILE = "tokens.json"


class BearerTokens(Protocol):
    """A set of valid tokens."""

    def find(self, text: str) -> str | None:
        """The name of the token; None if it is not valid."""


class OneToken:
    """The single token of a server. It has no name."""

    def __init__(self, text: str) -> None:
        self._digest = digest_of(text)

    def find(self, text: str) -> str | None:
        return "" if digest_of(text) == self._digest else None


class ProvenTokens:
    """The secret of a session, which may change while its endpoint is open. A check is valid for a second."""

    def __init__(self, check: Callable[[str], None]) -> None:
        """`check` raises `NotReady` for a wrong secret."""
        self._check = check
        self._digest = ""
        self._look_at = float("-inf")

    def find(self, text: str) -> str | None:
        digest = digest_of(text)
        if digest == self._digest and time.monotonic() < self._look_at:
            return ""
        try:
            self._check(text)
        except NotReady:
            return None
        self._digest, self._look_at = digest, time.monotonic() + LOOK_SECONDS
        return ""


class EitherTokens:
    """Accepts a token that any of several sets accepts."""

    def __init__(self, *known: BearerTokens) -> None:
        self._known = known

    def find(self, text: str) -> str | None:
        found = (tokens.find(text) for tokens in self._known)
        return next((name for name in found if name is not None), None)


class SavedToken(Struct, frozen=True, kw_only=True):
    """A named token in the file: only its digest is kept."""

    digest: str
    created_at: datetime


class NamedTokens:
    """The named tokens of a project, in a file that running servers read again when it changes."""

    def __init__(self, data_dir: str) -> None:
        self._path = os.path.join(data_dir, FILE)
        self._by_digest: dict[str, str] = {}
        self._seen: tuple[int, int] | None = None
        """Inode and time of the file that was read. Two files may have the same time."""

        self._look_at = float("-inf")

    def find(self, text: str) -> str | None:
        self._refresh()
        return self._by_digest.get(digest_of(text)) if self._by_digest else None

    def _refresh(self) -> None:
        now = time.monotonic()
        if now < self._look_at:
            return
        self._look_at = now + LOOK_SECONDS
        try:
            found = os.stat(self._path)
            seen = (found.st_ino, found.st_mtime_ns)
        except OSError:
            seen = (0, 0)
        if seen != self._seen:
            self._seen = seen
            self._by_digest = self._read_again()

    def _read_again(self) -> dict[str, str]:
        """The names by digest; none while the file is broken, so that a revoked token stays invalid."""
        try:
            return {token.digest: name for name, token in self.all().items()}
        except ConfigError as error:
            _log.warning("no named token is accepted: %s", error.message)
            return {}

    def all(self) -> Mapping[str, SavedToken]:
        """The tokens by name.

        Raises:
            ConfigError: the file is broken.
        """
        try:
            with open(self._path, "rb") as file:
                return msgspec.json.decode(file.read(), type=dict[str, SavedToken])
        except FileNotFoundError:
            return {}
        except (OSError, msgspec.DecodeError) as error:
            raise ConfigError(
                f"cannot read {self._path}: {error}", hint="remove the file and add the tokens again: bn mcp token add"
            ) from error

    def add(self, name: str) -> str:
        """Creates a token with this name and returns its text, of which only a digest is kept."""
        name = clean_name(name, what="name of a token")
        issued = issue(f"bnt-{name}")
        with self._changing():
            known = dict(self.all())
            if name in known:
                hint = f"revoke it first: bn mcp token revoke {name}"
                raise Duplicate(f"a token exists already: {name!r}", hint=hint)
            self._write({**known, name: SavedToken(digest=issued.digest, created_at=datetime.now(UTC))})
        return issued.text

    def revoke(self, name: str) -> None:
        """Revokes a token. Running servers refuse it within a second."""
        with self._changing():
            known = dict(self.all())
            if known.pop(name, None) is None:
                raise NotFound(f"no token {name!r}", hint=did_you_mean(name, list(known)))
            self._write(known)

    @contextmanager
    def _changing(self) -> Generator[None]:
        """Locks the file: otherwise a simultaneous change could bring a revoked token back."""
        make_private_folder(os.path.dirname(self._path))
        with locked(self._path):
            yield

    def _write(self, tokens: Mapping[str, SavedToken]) -> None:
        write_atomically(self._path, msgspec.json.encode(tokens), is_lasting=True)
