"""A login as it is saved: the tokens, the server they are for, and everything to renew them after a restart."""

import json
from collections.abc import Iterable
from hashlib import sha256
from typing import Literal

import msgspec
from msgspec import Struct

from binnacle.upstream.auth.provider_discovery import covers
from binnacle.upstream.auth.url_checks import resource_of
from binnacle.upstream.configuration.server_config import ServerConfig

RENEW_EARLY_SECONDS = 60.0
"""Seconds before its end in which a token is renewed."""

EXPIRY_MARGIN_SECONDS = 5.0
"""Seconds before its end in which a token is no longer used: it might expire on the way."""

Method = Literal["none", "client_secret_basic", "client_secret_post"]


class OAuthClient(Struct, frozen=True, kw_only=True):
    """Who we are to an authorization server. Its repr shows no secret."""

    id: str
    secret: str = ""
    method: Method = "none"
    redirect_uri: str = ""
    """The redirect of our registration; empty if we did not register."""

    def __repr__(self) -> str:
        return f"Client({self.method})"


class LoginGrant(Struct, frozen=True, kw_only=True):
    """A login. Its repr shows no secret."""

    version: Literal[1] = 1
    resource: str
    issuer: str
    token_endpoint: str
    revocation_endpoint: str = ""
    """Where its tokens are revoked; empty if the provider has no such endpoint."""

    client: OAuthClient
    access_token: str = ""
    refresh_token: str = ""
    issued_at: float = 0.0
    expires_at: float | None = None
    scopes: tuple[str, ...] = ()
    """What was granted; if the server did not say, what was asked for."""

    wanted: tuple[str, ...] = ()
    """Scopes that the server found missing; the next login asks for them."""

    def __repr__(self) -> str:
        return f"LoginGrant({self.resource!r} by {self.issuer!r})"

    def is_due(self, now: float) -> bool:
        """Whether it is time to renew it."""
        if self.expires_at is None:
            return False
        # A token that lives for a minute would always be due.
        early = min(RENEW_EARLY_SECONDS, (self.expires_at - self.issued_at) / 4)
        return now >= self.expires_at - max(early, 0.0)

    def is_over(self, now: float) -> bool:
        """Whether its token can no longer be used."""
        if not self.access_token:
            return True
        if self.expires_at is None:
            return False
        last = min(EXPIRY_MARGIN_SECONDS, (self.expires_at - self.issued_at) / 8)
        return now >= self.expires_at - max(last, 0.0)

    def without_tokens(self, *, is_known: bool) -> "LoginGrant":
        """What is kept of a login that is no longer accepted: its scopes, and our client id if it is still known."""
        client = self.client if is_known else msgspec.structs.replace(self.client, redirect_uri="")
        return msgspec.structs.replace(self, client=client, access_token="", refresh_token="", expires_at=None)


def key_of(config: ServerConfig) -> str:
    """Under which key a server's login is kept.

    Another URL, another provider or another client is another login: a project's file that renames things must not
    get tokens that were meant for another server.
    """
    auth = config.auth
    told = json.dumps([resource_of(config.url), auth.auth_url, auth.token_url, auth.client_id])
    return f"{config.name}-{sha256(told.encode()).hexdigest()[:20]}"


def encode(grant: LoginGrant) -> str:
    return msgspec.json.encode(grant).decode()


def decode(text: str | None, config: ServerConfig) -> LoginGrant | None:
    """A login as it was kept; None if there is none that can be read and is for this server."""
    if text is None:
        return None
    try:
        grant = msgspec.json.decode(text, type=LoginGrant)
    except (msgspec.DecodeError, UnicodeError):
        return None  # written by a newer Binnacle, or damaged: signing in again fixes both

    return grant if covers(grant.resource, config.url) else None


def together(*scopes: Iterable[str]) -> tuple[str, ...]:
    """All values, each once, in order."""
    return tuple(dict.fromkeys(one for some in scopes for one in some))
