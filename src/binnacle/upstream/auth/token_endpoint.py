"""The token endpoint: codes, refresh tokens and device codes become access tokens."""

import base64
import time
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Struct

from binnacle.errors import UpstreamDown
from binnacle.upstream.auth import oauth_requests
from binnacle.upstream.auth.grant import LoginGrant, OAuthClient
from binnacle.upstream.configuration.server_config import ServerConfig
from binnacle.upstream.redaction import Redactor
from binnacle.upstream.transports.http_session import HttpSession
from binnacle.wire.hidden_text import make_visible

PASSING_ERRORS = frozenset({"temporarily_unavailable", "server_error"})
"""Errors that say nothing about the login."""

MAX_LIFETIME_SECONDS = 10 * 365 * 86_400.0
"""Seconds. A longer life means for ever."""


class TokenRefused(Exception):
    """The authorization server refuses a token, with its error and its description, without secrets."""

    def __init__(self, error: str, description: str) -> None:
        super().__init__(f"{error}: {description}" if description else error)
        self.error = error


class _Answer(Struct):
    """An answer whose fields we use have the right types; others may be anything."""

    access_token: str = ""
    token_type: str | None = None
    expires_in: Any = None
    refresh_token: str | None = None
    scope: Any = None
    error: str | None = None
    error_description: Any = None


async def ask(
    http: HttpSession, grant: LoginGrant, form: dict[str, str], *, near: ServerConfig, redactor: Redactor
) -> LoginGrant:
    """`grant` with new tokens, for what `form` holds.

    Raises:
        TokenRefused: the endpoint refuses.
        UpstreamDown: there is no answer now; the login may still be valid.
        UpstreamError: the endpoint leads elsewhere.
    """
    for name in ("code", "refresh_token", "code_verifier", "device_code"):
        redactor.add(name, form.get(name, ""))
    learn(grant, redactor)
    headers, identity = client_authentication(grant.client)
    asked_at = time.time()
    form = {**form, **identity, "resource": grant.resource}
    answer = await oauth_requests.post(
        http, grant.token_endpoint, what="token endpoint", near=near, form=form, headers=headers
    )
    found = answer.decode(_Answer)
    if found is not None and found.error and found.error not in PASSING_ERRORS:
        raise TokenRefused(*describe_refusal(found.error, found.error_description, redactor))
    if found is None or answer.status not in (200, 201) or not _is_usable(found):
        raise UpstreamDown(
            f"the token endpoint answered {answer.status} and no token", hint="try again later; the login is kept"
        )
    renewed = msgspec.structs.replace(
        grant,
        access_token=found.access_token,
        refresh_token=found.refresh_token or grant.refresh_token,
        issued_at=asked_at,
        expires_at=_end(asked_at, found.expires_in),
        scopes=tuple(found.scope.split()) if isinstance(found.scope, str) and found.scope else grant.scopes,
    )
    learn(renewed, redactor)
    return renewed


async def renew(http: HttpSession, grant: LoginGrant, *, near: ServerConfig, redactor: Redactor) -> LoginGrant:
    """New tokens for a login's refresh token, which stays valid unless it is replaced."""
    form = {"grant_type": "refresh_token", "refresh_token": grant.refresh_token}
    return await ask(http, grant, form, near=near, redactor=redactor)


async def revoke(http: HttpSession, grant: LoginGrant, *, near: ServerConfig, redactor: Redactor) -> None:
    """Asks the provider to revoke the tokens of a login (RFC 7009).

    Raises:
        TokenRefused: they may still be valid.
        UpstreamDown: there is no answer now; they may still be valid.
        UpstreamError: the endpoint leads elsewhere.
    """
    learn(grant, redactor)
    headers, identity = client_authentication(grant.client)
    for kind, token in (("refresh_token", grant.refresh_token), ("access_token", grant.access_token)):
        if not token:
            continue
        form = {"token": token, "token_type_hint": kind, **identity}
        answer = await oauth_requests.post(
            http, grant.revocation_endpoint, what="revocation of tokens", near=near, form=form, headers=headers
        )
        if answer.status == 200:
            continue
        found = answer.decode(_Answer) or _Answer()
        # Some revoke only refresh tokens; the access token expires soon by itself.
        if found.error == "unsupported_token_type" and kind == "access_token" and grant.refresh_token:
            continue
        raise TokenRefused(
            *describe_refusal(found.error or f"it answered {answer.status}", found.error_description, redactor)
        )


def learn(grant: LoginGrant, redactor: Redactor) -> None:
    """Adds the secrets of a login to the redactor."""
    redactor.add("access_token", grant.access_token)
    redactor.add("refresh_token", grant.refresh_token)
    redactor.add("client_secret", grant.client.secret)


def describe_refusal(error: str, description: Any, redactor: Redactor) -> tuple[str, str]:
    """An error of an authorization server, short, printable, and without our secrets."""
    description = description if isinstance(description, str) else ""
    return make_visible(redactor.clean(error)[:80]), make_visible(redactor.clean(description)[:200])


def client_authentication(client: OAuthClient) -> tuple[dict[str, str], dict[str, str]]:
    """Headers and form fields that authenticate us at the token endpoint."""
    if client.method == "client_secret_basic":
        pair = f"{quote(client.id, safe='')}:{quote(client.secret, safe='')}"
        return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}, {}
    if client.method == "client_secret_post":
        return {}, {"client_id": client.id, "client_secret": client.secret}
    return {}, {"client_id": client.id}


def _is_usable(found: _Answer) -> bool:
    token = found.access_token
    is_bearer = (found.token_type or "bearer").lower() == "bearer"
    return bool(token) and is_bearer and token.isascii() and token.isprintable() and " " not in token


def _end(asked_at: float, expires_in: Any) -> float | None:
    """When a token expires; None if the server does not say so in a sensible way."""
    try:
        seconds = float(expires_in)
    except (TypeError, ValueError):
        return None
    return asked_at + seconds if 0 < seconds < MAX_LIFETIME_SECONDS else None
