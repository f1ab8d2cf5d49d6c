"""Who may use the page: a link that works once, and the cookie that it is exchanged for.

    bn gui ──── make_link ──► link, valid for minutes ──── exchange ──► cookie, valid for days ──── is_valid
               (any process)                              (the server, once)

What is valid is kept in a private file for each port, as digests: neither the file nor a log lets anybody in. Because
of the file, `bn gui --link` makes a link for a server in another process, and an open page comes back when its server
was restarted on the same port by the same person. Every change is made under a lock and replaces the file, so a link
is exchanged once, whoever asks at the same time.

Cookies know hosts but not ports. So the name of ours contains the port, and a cookie is valid only at its own: two
servers of one person do not disturb each other.
"""

import os
import secrets
import time
from collections.abc import Generator
from contextlib import contextmanager

import msgspec
from msgspec import Struct

from binnacle.config.access_tokens import digest_of
from binnacle.config.atomic_write import write_atomically
from binnacle.config.clients.foreign_files import locked
from binnacle.config.directories import data_root
from binnacle.config.private_files import make_private_folder

LINK_SECONDS = 10 * 60
"""How long a link can be exchanged."""

COOKIE_SECONDS = 7 * 24 * 3600
"""How long a browser stays signed in."""

MAX_LINKS = 20
MAX_COOKIES = 50
"""How many are valid at once; the oldest go first."""

MAX_SECRET_CHARACTERS = 200


class SignInRecord(Struct, frozen=True, kw_only=True):
    """What is valid at one port: digests, each with the time when it ends, in seconds since 1970."""

    links: dict[str, float] = {}
    cookies: dict[str, float] = {}


class SignIns:
    """The links and cookies of one port."""

    def __init__(self, port: int) -> None:
        self.cookie_name = f"binnacle-{port}"
        self._path = os.path.join(sign_in_folder(), f"{port}.json")
        self._seen: tuple[int, int, int] | None = None
        self._record = SignInRecord()

    def make_link_key(self, *, now: float | None = None) -> str:
        """A new secret for a link, which can be exchanged once.

        Raises:
            OSError: the file cannot be written.
        """
        now = time.time() if now is None else now
        key = secrets.token_urlsafe(32)
        with self._changing() as record:
            links = _add(record.links, digest_of(key), now + LINK_SECONDS, now=now, most=MAX_LINKS)
            self._write(SignInRecord(links=links, cookies=record.cookies))
        return key

    def exchange(self, key: str, *, now: float | None = None) -> str | None:
        """The cookie for the secret of a link; None if the link was used, has expired or never was."""
        now = time.time() if now is None else now
        if not 0 < len(key) <= MAX_SECRET_CHARACTERS:
            return None
        digest = digest_of(key)
        if self._read().links.get(digest, 0.0) <= now:
            return None
        with self._changing() as record:
            if record.links.get(digest, 0.0) <= now:
                return None  # somebody else was quicker
            cookie = secrets.token_urlsafe(32)
            links = {known: end for known, end in record.links.items() if known != digest}
            cookies = _add(record.cookies, digest_of(cookie), now + COOKIE_SECONDS, now=now, most=MAX_COOKIES)
            self._write(SignInRecord(links=links, cookies=cookies))
        return cookie

    def is_signed_in(self, header: str) -> bool:
        """Whether one of the cookies in the header of a request is valid."""
        return any(map(self.is_valid, find_cookies(header, self.cookie_name)[:MAX_COOKIES]))

    def is_valid(self, cookie: str, *, now: float | None = None) -> bool:
        """Whether a browser with this cookie is signed in."""
        now = time.time() if now is None else now
        if not 0 < len(cookie) <= MAX_SECRET_CHARACTERS:
            return False
        return self._read().cookies.get(digest_of(cookie), 0.0) > now

    def forget_all(self) -> None:
        """Makes every link and every cookie invalid."""
        with self._changing():
            self._write(SignInRecord())

    @contextmanager
    def _changing(self) -> Generator[SignInRecord]:
        make_private_folder(os.path.dirname(self._path))
        with locked(self._path):
            yield self._read()

    def _read(self) -> SignInRecord:
        """What is valid now. A file that cannot be read lets nobody in."""
        try:
            found = os.stat(self._path)
            seen = (found.st_ino, found.st_mtime_ns, found.st_size)
            if seen != self._seen:
                with open(self._path, "rb") as file:
                    self._record = msgspec.json.decode(file.read(), type=SignInRecord)
                self._seen = seen
        except (OSError, msgspec.DecodeError):
            self._seen, self._record = None, SignInRecord()
        return self._record

    def _write(self, record: SignInRecord) -> None:
        write_atomically(self._path, msgspec.json.encode(record), is_lasting=True)


def sign_in_folder() -> str:
    """The folder for the records of all ports."""
    return os.path.join(data_root(), ".page")


def find_cookies(header: str, name: str) -> list[str]:
    """The values of a cookie in the header of a request.

    There may be several: a server on another port of this machine can set one of the same name.
    """
    pairs = (part.strip().partition("=") for part in header.split(";"))
    return [value for key, _, value in pairs if key == name]


def _add(known: dict[str, float], digest: str, end: float, *, now: float, most: int) -> dict[str, float]:
    """What is still valid, and one more."""
    valid = sorted((until, one) for one, until in known.items() if until > now)
    return {one: until for until, one in [*valid[-(most - 1) :], (end, digest)]}
