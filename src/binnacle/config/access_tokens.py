"""Secrets that we hand out: `id.secret`, of which only a digest is kept.

The id is public and is what people and logs see. A digest cannot be turned back, so a reader of the store or of a file
cannot act as somebody else.
"""

import os
from typing import NamedTuple

SECRET_BYTES = 18


class IssuedSecret(NamedTuple):
    """A new secret."""

    text: str
    """What is handed out, and shown once."""

    digest: str
    """What is kept."""


def issue(public_id: str) -> IssuedSecret:
    """A secret for what is known as `public_id`."""
    text = f"{public_id}.{os.urandom(SECRET_BYTES).hex()}"
    return IssuedSecret(text, digest_of(text))


def digest_of(text: str) -> str:
    """What is kept of a secret."""
    # Taken from the module below `hashlib`, which loads OpenSSL: 4 ms of every command in an agent's shell.
    from _blake2 import blake2b

    return blake2b(text.encode("utf-8", "surrogateescape"), digest_size=32).hexdigest()


def id_of(text: str) -> str:
    """The public part of a secret; empty if it has none."""
    public_id, dot, _ = text.rpartition(".")
    return public_id if dot else ""


def matches(text: str, digest: str) -> bool:
    """Whether a digest was made from this secret. Digests are compared, so time tells nothing of the secret."""
    return bool(digest) and digest_of(text) == digest
