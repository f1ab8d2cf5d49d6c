"""Secrets that we issue: `id.secret`, of which only a digest is stored.

The id is public: people and logs see it. A digest cannot be reversed, so someone who reads the store or a file cannot
act as someone else.
"""

import os
from typing import NamedTuple

SECRET_BYTES = 18


class IssuedSecret(NamedTuple):
    """A new secret."""

    text: str
    """The secret itself, shown once."""

    digest: str
    """What is stored."""


def issue(public_id: str) -> IssuedSecret:
    """A new secret with the public part `public_id`."""
    text = f"{public_id}.{os.urandom(SECRET_BYTES).hex()}"
    return IssuedSecret(text, digest_of(text))


def digest_of(text: str) -> str:
    """The digest of a secret."""
    # Not from `hashlib`, which loads OpenSSL: that costs 4 ms of every command in an agent's shell.
    from _blake2 import blake2b

    return blake2b(text.encode("utf-8", "surrogateescape"), digest_size=32).hexdigest()


def id_of(text: str) -> str:
    """The public part of a secret; empty if it has none."""
    public_id, dot, _ = text.rpartition(".")
    return public_id if dot else ""


def matches(text: str, digest: str) -> bool:
    """Whether a digest was made from this secret. Digests are compared, so timing reveals nothing about the secret."""
    return bool(digest) and digest_of(text) == digest
