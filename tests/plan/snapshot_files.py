"""Texts that agents see, kept in files: compared, or written again by `make snapshots`."""

import os
from pathlib import Path

WRITE = "BN_WRITE_SNAPSHOTS"
"""The variable that makes the files be written instead of compared."""


def check_snapshot(file: Path, text: str) -> None:
    """Compares a text with what its file keeps."""
    if os.environ.get(WRITE):
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    known = file.read_text() if file.exists() else ""
    assert text == known, f"{file} differs; if that is meant: make snapshots, and look at git diff"
