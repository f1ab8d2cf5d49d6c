"""Authenticates by a login: an access token that is renewed in time, once for all callers.

No lock is held while a request is under way. A renewal is one task that all requests of this process wait for, and
holds the login's lock against other processes; the second process finds the new tokens already saved.
"""

import asyncio
import contextlib
import time
from contextvars import ContextVar

import msgspec

from binnacle.errors import UpstreamLogin
from binnacle.upstream import upstream_steps
from binnacle.upstream.auth import challenge, token_endpoint
from binnacle.upstream.auth.grant import LoginGrant, decode, encode, key_of, together
from binnacle.upstream.auth.secret_store import SecretStore
from binnacle.upstream.auth.token_endpoint import TokenRefused
from binnacle.upstream.configuration.server_config import ServerConfig
from binnacle.upstream.redaction import Redactor
from binnacle.upstream.transports.http_session import HttpSession

RENEW_RETRY_SECONDS = 10.0
"""Seconds between two attempts to renew a token that is still valid."""

NEW_TOKEN_SECONDS = 10.0
"""Seconds in which a token that replaced a refused one is not replaced again: another one would be refused, too."""

CLOSE_SECONDS = 20.0
"""Seconds that closing waits for a renewal under way."""

UNKNOWN_CLIENT_ERRORS = frozenset({"invalid_client", "unauthorized_client"})
"""Refusals after which we have to register again."""

REVOKED_ERRORS = frozenset({"invalid_grant"}) | UNKNOWN_CLIENT_ERRORS
"""Refusals after which the same tokens never work again."""

_sent: ContextVar[str] = ContextVar("_sent", default="")
"""The token of the request that this task makes: by the time it is refused, there may be a newer one."""


class OAuth:
    """The login of one server."""

    def __init__(
        self,
        config: ServerConfig,
        *,
        secrets: SecretStore,
        http: HttpSession,
        redactor: Redactor,
        is_asked_for: bool = True,
    ) -> None:
        """Without `is_asked_for`, we look for a login only after the server has asked for one."""
        self._config = config
        self._key = key_of(config)
        self._secrets = secrets
        self._http = http
        self._redactor = redactor
        self._is_asked_for = is_asked_for
        self._grant: LoginGrant | None = None
        self._is_kept = True
        """Whether the login is saved; one that could not be saved is only in memory."""

        self._renewal: asyncio.Task[LoginGrant] | None = None
        self._replacement = ""
        """The token that we got because the one before was refused."""

        self._next_attempt = 0.0

    async def headers(self) -> dict[str, str]:
        grant = self._grant or await self._load_grant()
        if grant is None:
            _sent.set("")
            if self._config.auth.type == "oauth":
                raise self._needs_login("nobody has signed in yet")
            return {}
        now = time.time()
        if grant.is_over(now):
            grant = await self._wait_for_renewal(grant)
        elif grant.is_due(now) and grant.refresh_token and time.monotonic() >= self._next_attempt:
            self._begin_renewal(grant)  # no caller has to wait for it yet
        _sent.set(grant.access_token)
        return {"Authorization": f"Bearer {grant.access_token}"}

    async def handle_challenge(self, status: int, www_authenticate: str) -> bool:
        asked = challenge.parse_challenge(www_authenticate)
        if status == 403 and asked.error == "insufficient_scope":
            return await self._handle_missing_scopes(asked.scopes)
        if status != 401:
            return False
        self._is_asked_for = True
        sent = _sent.get()
        grant = self._grant if self._grant and self._grant.access_token != sent else await self._load_grant()
        if grant is None:
            raise self._needs_login("it wants to know who asks")
        now = time.time()
        if grant.access_token == sent == self._replacement and now < grant.issued_at + NEW_TOKEN_SECONDS:
            raise self._needs_login("it refuses a token that is new")
        if grant.access_token == sent or grant.is_over(now):
            self._replacement = (await self._wait_for_renewal(grant)).access_token
        return True

    def reconsider(self) -> None:
        if self._is_kept:
            self._grant = None

    async def aclose(self) -> None:
        if self._renewal is not None and not self._renewal.done():
            await asyncio.wait({self._renewal}, timeout=CLOSE_SECONDS)
            self._renewal.cancel()

    async def _load_grant(self) -> LoginGrant | None:
        """The saved login, which another process may have made or renewed."""
        if not self._is_asked_for:
            return None
        found = decode(await self._secrets.load(self._key), self._config)
        if found is not None:
            token_endpoint.learn(found, self._redactor)
            if self._grant is not None and self._grant.issued_at > found.issued_at:
                return self._grant  # ours could not be saved
        self._grant = found if found is not None and (found.access_token or found.refresh_token) else None
        return self._grant

    async def _wait_for_renewal(self, spent: LoginGrant) -> LoginGrant:
        """A valid login in place of a `spent` one. Cancelling a caller does not cancel the renewal."""
        return await asyncio.shield(self._begin_renewal(spent))

    def _begin_renewal(self, spent: LoginGrant) -> asyncio.Task[LoginGrant]:
        if self._renewal is None or self._renewal.done():
            self._renewal = asyncio.create_task(self._renew(spent.access_token))
            self._renewal.add_done_callback(_retrieve_exception)
        return self._renewal

    async def _renew(self, spent: str) -> LoginGrant:
        self._next_attempt = time.monotonic() + RENEW_RETRY_SECONDS
        async with self._secrets.exclusive(self._key):
            grant = await self._load_grant()
            if grant is None:
                raise self._needs_login("its login was removed")
            if grant.access_token != spent and not grant.is_due(time.time()):
                return grant  # another process was faster
            if not grant.refresh_token:
                self._grant = None
                raise self._needs_login("the login has expired")
            try:
                renewed = await token_endpoint.renew(self._http, grant, near=self._config, redactor=self._redactor)
            except TokenRefused as refusal:
                raise await self._handle_refusal(grant, refusal) from refusal
            # Used first, then saved: if it cannot be saved, at least this process continues with it.
            self._grant, self._is_kept = renewed, False
            self._next_attempt = 0.0
            await self._secrets.save(self._key, encode(renewed))
            self._is_kept = True
            return renewed

    async def _handle_refusal(self, grant: LoginGrant, refusal: TokenRefused) -> UpstreamLogin:
        if refusal.error in REVOKED_ERRORS:
            self._grant = None
            await self._secrets.save(
                self._key, encode(grant.without_tokens(is_known=refusal.error not in UNKNOWN_CLIENT_ERRORS))
            )
        return self._needs_login(f"the login was not renewed ({refusal})")

    async def _handle_missing_scopes(self, scopes: tuple[str, ...]) -> bool:
        """Handles a refusal for missing scopes: true if a newer login may have them, else a person is needed."""
        if self._grant is not None and self._grant.access_token != _sent.get():
            return True
        self._is_asked_for = True
        async with self._secrets.exclusive(self._key):
            before = self._grant.access_token if self._grant else ""
            grant = await self._load_grant()
            if grant is not None and grant.access_token != before and not grant.is_over(time.time()):
                return True
            if grant is not None and not set(scopes) <= set(grant.wanted):
                self._grant = msgspec.structs.replace(grant, wanted=together(grant.wanted, scopes))
                await self._secrets.save(self._key, encode(self._grant))
        more = self._redactor.clean(" ".join(scopes))[:200]
        raise self._needs_login(f"the login does not allow this{f', it also wants: {more}' if more else ''}")

    def _needs_login(self, why: str) -> UpstreamLogin:
        name = self._config.name
        return UpstreamLogin(f"{name} needs a login: {why}", hint=upstream_steps.sign_in(name))


def _retrieve_exception(renewal: asyncio.Task[LoginGrant]) -> None:
    """Reads the exception of a renewal, so that asyncio does not warn about one that no caller waits for."""
    with contextlib.suppress(asyncio.CancelledError):
        renewal.exception()
