"""Our client id at an authorization server: configured, a URL that describes us, or registered during the login."""

from typing import Any

from msgspec import Struct

from binnacle.errors import ConfigError, UpstreamError
from binnacle.upstream.auth import oauth_requests
from binnacle.upstream.auth.grant import LoginGrant, Method, OAuthClient
from binnacle.upstream.auth.provider_discovery import Provider, is_same_issuer
from binnacle.upstream.auth.token_endpoint import describe_refusal
from binnacle.upstream.configuration.server_config import ServerConfig
from binnacle.upstream.redaction import Redactor
from binnacle.upstream.transports.http_session import HttpSession

DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"


class _Registered(Struct):
    client_id: str = ""
    client_secret: str | None = None
    token_endpoint_auth_method: str | None = None
    error: str | None = None
    error_description: Any = None


def known_client(config: ServerConfig, provider: Provider, before: LoginGrant | None) -> OAuthClient | None:
    """Our client id if we have one; None if we have to register first.

    A registration is used again only with the issuer that it was made with.
    """
    auth = config.auth
    if auth.client_id:
        return OAuthClient(
            id=auth.client_id, secret=auth.client_secret, method=_method_for(auth.client_secret, provider)
        )
    if auth.client_metadata_url and provider.takes_client_urls:
        return OAuthClient(id=auth.client_metadata_url)
    is_known = before is not None and before.client.redirect_uri and is_same_issuer(before.issuer, provider.issuer)
    return before.client if before is not None and is_known else None


async def register(
    config: ServerConfig, provider: Provider, http: HttpSession, *, redirect_uri: str, scopes: tuple[str, ...]
) -> OAuthClient:
    """Registers us (RFC 7591).

    Raises:
        ConfigError: the authorization server accepts only clients it knows.
        UpstreamDown: it cannot be reached now.
        UpstreamError: it refused, or answered what we cannot use.
    """
    if not provider.registration_endpoint:
        raise _unknown(config, "and takes no registrations")
    wanted: dict[str, Any] = {
        "client_name": "Binnacle",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token", *([DEVICE_GRANT] if provider.device_endpoint else ())],
        "response_types": ["code"],
        "token_endpoint_auth_method": _choose_method(provider),
        "application_type": "native",
        **({"scope": " ".join(scopes)} if scopes else {}),
    }
    answer = await oauth_requests.post(
        http, provider.registration_endpoint, what="registration of clients", near=config, body=wanted
    )
    found = answer.decode(_Registered)
    if answer.status not in (200, 201) or found is None or not found.client_id:
        error, description = (
            describe_refusal(found.error or "", found.error_description, Redactor()) if found else ("", "")
        )
        said = ": ".join(part for part in (f"answered {answer.status}", error, description) if part)
        raise _unknown(config, f"and its registration {said}")
    return _check_registration(config, found, wanted["token_endpoint_auth_method"], redirect_uri)


def _check_registration(config: ServerConfig, found: _Registered, asked: str, redirect_uri: str) -> OAuthClient:
    """The registration as the server made it, which may differ from what we asked for; an unusable one is refused."""
    secret = found.client_secret or ""
    method = _method(found.token_endpoint_auth_method or asked)
    if method is None or (method != "none" and not secret):
        raise UpstreamError(
            f"the authorization server of {config.name} registered us in a way that we cannot use:"
            f" {(found.token_endpoint_auth_method or asked)[:40]!r}",
            hint=f"register a client there by hand, and set auth.client_id in {config.source}",
        )
    return OAuthClient(
        id=found.client_id, secret=secret if method != "none" else "", method=method, redirect_uri=redirect_uri
    )


def _choose_method(provider: Provider) -> Method:
    """How to authenticate: without a secret if allowed, because a program on a person's machine keeps none."""
    if provider.methods is None or "none" in provider.methods:
        return "none"
    return next((method for one in provider.methods if (method := _method(one)) is not None), "none")


def _method_for(secret: str, provider: Provider) -> Method:
    if not secret:
        return "none"
    allowed = provider.methods or ("client_secret_basic",)
    return "client_secret_basic" if "client_secret_basic" in allowed else "client_secret_post"


def _method(name: str) -> Method | None:
    match name:
        case "none" | "client_secret_basic" | "client_secret_post":
            return name
        case _:
            return None


def _unknown(config: ServerConfig, why: str) -> ConfigError:
    return ConfigError(
        f"the authorization server of {config.name} does not know us, {why}",
        hint=f"register a client there with the redirect http://127.0.0.1/callback, and set auth.client_id"
        f" (and auth.client_secret, if it has one) in {config.source}",
    )
