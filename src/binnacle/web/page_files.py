"""The built page: its files in memory, each as it is sent. `make page` builds them from the sources in `page/`."""

import os
from typing import NamedTuple

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "assets")
"""Where the build puts them."""

INDEX = "index.html"
PREFIX = "/assets/"

MIME_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}

NOT_BUILT = (
    b"<!doctype html><html lang=en><meta charset=utf-8><title>Binnacle</title>"
    b"<h1>The page is not built</h1><p>This is a checkout of the sources: run <code>make page</code>, then reload."
)


class PageFile(NamedTuple):
    """One file of the page."""

    body: bytes
    mime_type: str
    gzipped: bytes | None = None
    """The same, compressed."""

    is_lasting: bool = False
    """Whether its name changes with its content, so that browsers may keep it."""


class PageFiles:
    """All files of the page, by address. They are read once, so no address reaches any other file."""

    def __init__(self, folder: str = FOLDER) -> None:
        self._by_path: dict[str, PageFile] = {}
        self.index = PageFile(NOT_BUILT, MIME_TYPES[".html"])
        """The page itself, for every address that is not a file."""

        for parent, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(parent, name)
                if not name.endswith(".gz") and os.path.splitext(name)[1] in MIME_TYPES:
                    self._add(os.path.relpath(path, folder), path)

    def find(self, path: str) -> PageFile | None:
        """The file at an address below `/assets/`; None if there is none."""
        return self._by_path.get(path)

    def _add(self, name: str, path: str) -> None:
        gzipped = _read(f"{path}.gz") if os.path.exists(f"{path}.gz") else None
        mime_type = MIME_TYPES[os.path.splitext(name)[1]]
        if name == INDEX:
            self.index = PageFile(_read(path), mime_type, gzipped)
        else:
            address = PREFIX + name.replace(os.sep, "/")
            self._by_path[address] = PageFile(_read(path), mime_type, gzipped, is_lasting=True)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()
