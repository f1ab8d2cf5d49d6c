"""Moves the password of the store from the environment into a private file, before agents are started.

Every child process inherits the environment, and many programs print it. `bn` in the shell of an agent still has to
reach the store, so it gets the address without the password, and libpq reads the password from the file that PGPASSFILE
names.
"""

import os
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager, suppress
from urllib.parse import unquote, urlsplit

from binnacle.config.atomic_write import write_atomically
from binnacle.config.child_environment import STORE_URL, without_password
from binnacle.config.private_files import make_private_folder

PASSWORD, PASSWORD_FILE = "PGPASSWORD", "PGPASSFILE"
DEFAULT_PORT = "5432"


@contextmanager
def password_in_file(environ: MutableMapping[str, str], url: str, folder: str) -> Iterator[None]:
    """Moves the password of the store at `url` from `environ` to a file in `folder`. Leaving the block removes it."""
    given = environ.get(STORE_URL, "")
    password = _password_of(given) or environ.get(PASSWORD, "")
    if not password or not url.startswith(("postgres://", "postgresql://")):
        yield
        return
    make_private_folder(folder)
    path = os.path.join(folder, f"store-{os.getpid()}.pgpass")
    write_atomically(path, _lines(url, environ, password).encode())
    try:
        environ.pop(PASSWORD, None)
        if given:
            environ[STORE_URL] = without_password(given)
        environ[PASSWORD_FILE] = path
        yield
    finally:
        with suppress(FileNotFoundError):
            os.unlink(path)


def _password_of(url: str) -> str:
    _, at, _ = urlsplit(url).netloc.rpartition("@")
    return unquote(urlsplit(url).password or "") if at else ""


def _lines(url: str, environ: MutableMapping[str, str], password: str) -> str:
    """One line for each server of the address, so that the password is used for no other server."""
    parts = urlsplit(url)
    _, _, places = parts.netloc.rpartition("@")
    user = unquote(parts.username or "") or environ.get("PGUSER", "") or "*"
    database = unquote(parts.path.lstrip("/")) or environ.get("PGDATABASE", "") or "*"
    lines = []
    for place in places.split(",") if places else [environ.get("PGHOST", "localhost")]:
        host, port = _place(place, environ)
        lines.append(":".join(map(_escape, (host, port, database, user, password))))
    return "\n".join(lines) + "\n"


def _place(text: str, environ: MutableMapping[str, str]) -> tuple[str, str]:
    host, colon, port = text.rpartition(":")
    if text.endswith("]") or not colon:
        host, port = text, ""
    name = unquote(host).strip("[]")
    # libpq looks for a socket's password under this name.
    shown = "localhost" if not name or name.startswith("/") else name
    return shown, port or environ.get("PGPORT", "") or DEFAULT_PORT


def _escape(field: str) -> str:
    return field if field == "*" else field.replace("\\", "\\\\").replace(":", "\\:")
