"""Signs a person in to a server, in a browser here or elsewhere, and signs them out."""

import asyncio
import contextlib
import hashlib
import secrets as random
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

from binnacle.errors import ConfigError, TimedOut, UpstreamError, UpstreamLogin
from binnacle.upstream import upstream_steps
from binnacle.upstream.auth import browser, client_registration, provider_discovery, token_endpoint
from binnacle.upstream.auth.callback_listener import CallbackListener
from binnacle.upstream.auth.device_flow import sign_in_by_device
from binnacle.upstream.auth.grant import LoginGrant, OAuthClient, decode, encode, key_of, together
from binnacle.upstream.auth.provider_discovery import DiscoveredProvider
from binnacle.upstream.auth.secret_store import SecretStore
from binnacle.upstream.auth.token_endpoint import TokenRefused
from binnacle.upstream.auth.url_checks import check_private
from binnacle.upstream.configuration.server_config import ServerConfig
from binnacle.upstream.redaction import Redactor
from binnacle.upstream.transports.http_session import HttpSession

LOGIN_SECONDS = 600.0
"""Seconds that a person has to sign in."""

MAX_PASTES = 3
"""Times that a person may paste something wrong."""

Show = Callable[[str], None]
ReadRedirect = Callable[[], Awaitable[str]]


class _Attempt(NamedTuple):
    """One login under way."""

    config: ServerConfig
    http: HttpSession
    found: DiscoveredProvider
    scopes: tuple[str, ...]
    show: Show
    redactor: Redactor

    def grant(self, client: OAuthClient) -> LoginGrant:
        """A login without tokens yet."""
        provider = self.found.provider
        return LoginGrant(
            resource=self.found.resource,
            issuer=provider.issuer,
            token_endpoint=provider.token_endpoint,
            revocation_endpoint=provider.revocation_endpoint,
            client=client,
            scopes=self.scopes,
        )

    def refused(self, why: str) -> UpstreamLogin:
        name = self.config.name
        return UpstreamLogin(f"nobody was signed in to {name}: {why}", hint=upstream_steps.sign_in(name))


async def login(
    config: ServerConfig,
    *,
    secrets: SecretStore,
    http: HttpSession,
    show: Show,
    read_redirect: ReadRedirect | None = None,
    open_browser: bool = True,
    device: bool = False,
    redactor: Redactor | None = None,
) -> None:
    """Signs a person in, and keeps the login.

    Args:
        show: shows the person a line.
        read_redirect: asks for the address that the browser ended up at, or the code in it; for a browser elsewhere.
        device: signs in with a code that is typed in on any other device.

    Raises:
        UpstreamLogin: the login failed; the message says why.
        UpstreamDown: the server or its authorization server cannot be reached.
        UpstreamError: what they say is inconsistent.
        ConfigError: the configuration is not enough for it, or is for something else.
        TimedOut: the person did not sign in.
    """
    _check(config)
    known = redactor or Redactor()
    known.learn(config)
    found = await provider_discovery.discover_provider(config, http)
    key = key_of(config)
    before = decode(await secrets.load(key), config)
    if before is not None:
        token_endpoint.learn(before, known)
    attempt = _Attempt(config, http, found, _scopes(config, found, before), show, known)
    try:
        async with asyncio.timeout(LOGIN_SECONDS):
            if device:
                grant = await _by_device(attempt, before)
            else:
                grant = await _by_code(attempt, before, read_redirect, open_browser=open_browser)
    except TokenRefused as refusal:
        raise attempt.refused(str(refusal)) from refusal
    except TimeoutError as error:
        raise TimedOut(
            f"nobody signed in to {config.name} within {LOGIN_SECONDS:g} s", hint=upstream_steps.sign_in(config.name)
        ) from error
    async with secrets.exclusive(key):
        await secrets.save(key, encode(grant))
    show(f"Signed in to {config.name}. The login is kept {secrets.where}.")


class SignedOut(NamedTuple):
    """The result of signing out."""

    was_there: bool
    """Whether there was a login, which is now removed."""

    still_good: str
    """Why its tokens may still be valid; empty if they are not."""


async def logout(config: ServerConfig, *, secrets: SecretStore, http: HttpSession) -> SignedOut:
    """Revokes the tokens of a server's login if possible, and always forgets the login."""
    key = key_of(config)
    async with secrets.exclusive(key):
        try:
            still_good = await _revoke(decode(await secrets.load(key), config), config, http)
        finally:
            was_there = await secrets.forget(key)
    return SignedOut(was_there, still_good)


async def _revoke(grant: LoginGrant | None, config: ServerConfig, http: HttpSession) -> str:
    """Revokes a login. Returns why that was not possible."""
    if grant is None or not (grant.access_token or grant.refresh_token):
        return ""
    if not grant.revocation_endpoint:
        return "the provider does not say how to revoke them"
    try:
        await token_endpoint.revoke(http, grant, near=config, redactor=Redactor())
    except TokenRefused as refusal:
        return f"the provider did not revoke them ({refusal})"
    except UpstreamError as error:
        return error.message
    return ""


def _check(config: ServerConfig) -> None:
    if config.transport == "stdio":
        raise ConfigError(f"{config.name} is a command, and has no login", hint=f"see its env in {config.source}")
    if instead := {"api_key": "an API key", "token_file": "a token file"}.get(config.auth.type):
        raise ConfigError(
            f"{config.name} has no login: it is configured with {instead}",
            hint=f'set "auth": {{"type": "oauth"}} in {config.source} to sign in instead',
        )
    check_private(config)


def _scopes(config: ServerConfig, found: DiscoveredProvider, before: LoginGrant | None) -> tuple[str, ...]:
    """The scopes to ask for: those configured, else those that the server names; and those it found missing."""
    scopes = config.auth.scopes or found.scopes
    if before is not None and before.wanted:
        scopes = together(before.scopes, scopes, before.wanted)
    # Without it, some providers give no refresh token.
    return together(scopes, ["offline_access"]) if "offline_access" in found.provider.scopes and scopes else scopes


async def _by_device(attempt: _Attempt, before: LoginGrant | None) -> LoginGrant:
    config, provider = attempt.config, attempt.found.provider
    if not provider.device_endpoint:
        raise ConfigError(
            f"the authorization server of {config.name} offers no login by device",
            hint=upstream_steps.sign_in(config.name, words="sign in with an address pasted from a browser elsewhere"),
        )
    client = client_registration.known_client(config, provider, before) or await client_registration.register(
        config, provider, attempt.http, redirect_uri="http://127.0.0.1/callback", scopes=attempt.scopes
    )
    return await sign_in_by_device(
        attempt.http,
        attempt.grant(client),
        provider.device_endpoint,
        near=config,
        show=attempt.show,
        redactor=attempt.redactor,
    )


async def _by_code(
    attempt: _Attempt, before: LoginGrant | None, read_redirect: ReadRedirect | None, *, open_browser: bool
) -> LoginGrant:
    config, provider = attempt.config, attempt.found.provider
    known = client_registration.known_client(config, provider, before)
    port = urlsplit(known.redirect_uri).port or 0 if known and known.redirect_uri else 0
    async with CallbackListener(port) as receiver:
        uri = receiver.redirect_uri
        if known is None or (known.redirect_uri and known.redirect_uri != uri):
            known = await client_registration.register(
                config, provider, attempt.http, redirect_uri=uri, scopes=attempt.scopes
            )
        grant = attempt.grant(known)
        verifier = random.token_urlsafe(64)
        attempt.redactor.add("code_verifier", verifier)
        receiver.login_url = _login_url(attempt, grant, receiver, verifier)
        async with _show_attempt(attempt, receiver, open_browser=open_browser):
            answer = await _answer(attempt, receiver, read_redirect)
        form = {
            "grant_type": "authorization_code",
            "code": _code(attempt, answer),
            "redirect_uri": uri,
            "code_verifier": verifier,
        }
        return await token_endpoint.ask(attempt.http, grant, form, near=config, redactor=attempt.redactor)


def _login_url(attempt: _Attempt, grant: LoginGrant, receiver: CallbackListener, verifier: str) -> str:
    digest = hashlib.sha256(verifier.encode()).digest()
    asked = {
        "response_type": "code",
        "client_id": grant.client.id,
        "redirect_uri": receiver.redirect_uri,
        "state": receiver.state,
        "code_challenge": urlsafe_b64encode(digest).decode().rstrip("="),
        "code_challenge_method": "S256",
        "resource": grant.resource,
    }
    if attempt.scopes:
        asked["scope"] = " ".join(attempt.scopes)
    if "offline_access" in attempt.scopes:
        asked["prompt"] = "consent"
    endpoint = attempt.found.provider.authorization_endpoint
    return f"{endpoint}{'&' if urlsplit(endpoint).query else '?'}{urlencode(asked)}"


@contextlib.asynccontextmanager
async def _show_attempt(attempt: _Attempt, receiver: CallbackListener, *, open_browser: bool) -> AsyncIterator[None]:
    """Shows the person the login page, or at least its address, while the block runs."""
    login_url = receiver.login_url
    if open_browser and browser.is_there():
        attempt.show(f"A browser opens to sign in to {attempt.config.name}. If none does, open this address:")
        attempt.show(login_url)
        async with browser.open_in_browser(receiver.start_url):
            yield
    else:
        attempt.show(f"Open this address in a browser to sign in to {attempt.config.name}:")
        attempt.show(login_url)
        yield


async def _answer(attempt: _Attempt, receiver: CallbackListener, read_redirect: ReadRedirect | None) -> dict[str, str]:
    """The answer of the login page, from the browser or from the person, whichever comes first."""
    waits = {asyncio.create_task(receiver.wait_answer())}
    if read_redirect is not None:
        waits.add(asyncio.create_task(_read_pasted(attempt, receiver, read_redirect)))
    try:
        while waits:
            done, waits = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for one in done:
                if answer := one.result():
                    return answer
        raise attempt.refused("there was no answer")
    finally:
        for one in waits:
            one.cancel()
        await asyncio.gather(*waits, return_exceptions=True)


async def _read_pasted(attempt: _Attempt, receiver: CallbackListener, read_redirect: ReadRedirect) -> dict[str, str]:
    """What a person pasted. An empty line leaves it to the browser."""
    attempt.show("If that browser is on another machine: paste the address that it ends up at, or the code.")
    for _ in range(MAX_PASTES):
        text = (await read_redirect()).strip()
        if not text:
            return {}
        answer = dict(parse_qsl(urlsplit(text).query)) if "://" in text or "?" in text else {"code": text}
        if "state" not in answer and "code" in answer and "://" not in text:
            return answer  # a bare code; the verifier proves that it belongs to this login
        if random.compare_digest(answer.get("state", "").encode(), receiver.state.encode()):
            return answer
        attempt.show("That is not the answer to this login. Paste the complete address from the browser:")
    raise attempt.refused("what was pasted is not the answer to this login")


def _code(attempt: _Attempt, answer: dict[str, str]) -> str:
    """The code in an answer, if it comes from the server that we asked (RFC 9207)."""
    provider = attempt.found.provider
    issuer = answer.get("iss")
    if provider.issuer and issuer not in (None, provider.issuer):
        raise attempt.refused(f"the answer comes from another authorization server: {str(issuer)[:200]!r}")
    if provider.names_itself and issuer is None and "state" in answer:
        raise attempt.refused("the answer does not say who gave it")
    if error := answer.get("error", ""):
        raise TokenRefused(
            *token_endpoint.describe_refusal(error, answer.get("error_description", ""), attempt.redactor)
        )
    if not answer.get("code"):
        raise attempt.refused("the answer holds no code")
    return answer["code"]
