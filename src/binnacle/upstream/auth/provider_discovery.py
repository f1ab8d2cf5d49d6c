"""Finds who issues tokens for a server: RFC 9728 from the server, RFC 8414 and OpenID from there."""

from typing import NamedTuple
from urllib.parse import urlsplit

from msgspec import Struct

from binnacle.errors import ConfigError, UpstreamDown, UpstreamError
from binnacle.upstream.auth import challenge, oauth_requests
from binnacle.upstream.auth.url_checks import check_place, origin, resource_of
from binnacle.upstream.configuration.server_config import ServerConfig
from binnacle.upstream.transports.http_session import HttpSession

_PROBE = {"jsonrpc": "2.0", "id": 0, "method": "ping"}
_PROBE_HEADERS = {"Accept": "application/json, text/event-stream"}


class _ResourceMetadata(Struct):
    """What a server says of itself (RFC 9728)."""

    resource: str
    authorization_servers: list[str] | None = None
    scopes_supported: list[str] | None = None


class _ProviderMetadata(Struct):
    """What an authorization server says of itself (RFC 8414)."""

    issuer: str
    authorization_endpoint: str | None = None
    token_endpoint: str | None = None
    registration_endpoint: str | None = None
    device_authorization_endpoint: str | None = None
    revocation_endpoint: str | None = None
    scopes_supported: list[str] | None = None
    code_challenge_methods_supported: list[str] | None = None
    token_endpoint_auth_methods_supported: list[str] | None = None
    client_id_metadata_document_supported: bool | None = None
    authorization_response_iss_parameter_supported: bool | None = None


class Provider(NamedTuple):
    """An authorization server, and how to ask it for tokens."""

    issuer: str
    """Empty if the provider is configured, so that nothing was looked up."""

    authorization_endpoint: str
    token_endpoint: str
    registration_endpoint: str = ""
    device_endpoint: str = ""
    revocation_endpoint: str = ""
    scopes: tuple[str, ...] = ()
    methods: tuple[str, ...] | None = None
    """How clients may authenticate at the token endpoint; None if the provider does not say."""

    takes_client_urls: bool = False
    names_itself: bool = False
    """Whether its answers name their issuer (RFC 9207)."""


class DiscoveredProvider(NamedTuple):
    """What we need to know before a login."""

    provider: Provider
    resource: str
    """The resource that tokens are for (RFC 8707)."""

    scopes: tuple[str, ...] = ()
    """What the server says that it needs."""


async def discover_provider(config: ServerConfig, http: HttpSession) -> DiscoveredProvider:
    """Who issues tokens for a server.

    Raises:
        UpstreamDown: a server that we have to ask cannot be reached now.
        UpstreamError: what they say is inconsistent.
        ConfigError: what is configured is not enough.
    """
    if config.auth.auth_url or config.auth.token_url:
        return _read_configured(config)
    near = config.url
    asked = await _probe(config, http)
    described = await _describe(config, http, asked.resource_metadata)
    if described is None:
        issuer, resource, scopes = origin(near), resource_of(near), asked.scopes
    else:
        if not described.authorization_servers:
            raise UpstreamError(f"{config.name} does not say who gives out its tokens", hint=_explicit(config))
        issuer, resource = described.authorization_servers[0], described.resource
        scopes = asked.scopes or tuple(described.scopes_supported or ())
    metadata = await _metadata(issuer, http, config)
    if metadata is not None:
        return DiscoveredProvider(_provider(metadata, config), resource, scopes)
    if described is None:
        # Servers of the revision 2025-03-26 need not describe themselves; this is where theirs are then.
        return DiscoveredProvider(
            Provider(issuer, f"{issuer}/authorize", f"{issuer}/token", f"{issuer}/register"), resource, scopes
        )
    raise UpstreamError(f"the authorization server of {config.name} does not describe itself", hint=_explicit(config))


def resource_metadata_urls(url: str) -> tuple[str, ...]:
    """Where a server may describe itself: for its path, and for its host."""
    root = f"{origin(url)}/.well-known/oauth-protected-resource"
    path = urlsplit(url).path.rstrip("/")
    return (root + path, root) if path else (root,)


def provider_metadata_urls(issuer: str) -> tuple[str, ...]:
    """Where an authorization server may describe itself, in the order in which to look."""
    base, path = origin(issuer), urlsplit(issuer).path.rstrip("/")
    names = ("oauth-authorization-server", "openid-configuration")
    inserted = tuple(f"{base}/.well-known/{name}{path}" for name in names)
    return (*inserted, f"{base}{path}/.well-known/openid-configuration") if path else inserted


def is_same_issuer(one: str, other: str) -> bool:
    """Whether two issuers are the same, letter by letter, except for the slash after a bare host."""
    return one == other or (
        one.rstrip("/") == other.rstrip("/") and urlsplit(one).path in ("", "/") and urlsplit(other).path in ("", "/")
    )


def covers(resource: str, url: str) -> bool:
    """Whether tokens for `resource` are for the server at `url`: the same place, or one above it."""
    try:
        if origin(resource) != origin(url):
            return False
    except ValueError:
        return False
    above, below = (urlsplit(one).path.rstrip("/") + "/" for one in (resource, url))
    return below.startswith(above)


async def _probe(config: ServerConfig, http: HttpSession) -> challenge.AuthChallenge:
    """Asks the server without credentials, to learn what it wants. No answer is no error."""
    url = resource_of(config.url)
    try:
        answer = await oauth_requests.post(http, url, what="server", near=config, body=_PROBE, headers=_PROBE_HEADERS)
    except UpstreamError:
        return challenge.AuthChallenge()
    return challenge.parse_challenge(answer.challenge) if answer.status in (401, 403) else challenge.AuthChallenge()


async def _describe(config: ServerConfig, http: HttpSession, named: str) -> _ResourceMetadata | None:
    failure: UpstreamError | None = None
    for url in dict.fromkeys((*([named] if named else ()), *resource_metadata_urls(config.url))):
        try:
            answer = await oauth_requests.get(http, url, what="description of the server", near=config)
        except UpstreamDown as error:
            failure = error
            continue
        if answer.status >= 500 or answer.status == 429:
            failure = UpstreamDown(f"{config.name} cannot describe itself now: {answer.status}", hint="try again later")
        found = answer.decode(_ResourceMetadata) if answer.status == 200 else None
        if found is not None:
            if not covers(found.resource, config.url):
                raise UpstreamError(
                    f"{config.name} describes itself as another server: {found.resource[:200]!r}",
                    hint="check its url; a token for one server is not shown to another",
                )
            return found
    if failure is not None:
        raise failure  # an unreachable server may still have a description
    return None


async def _metadata(issuer: str, http: HttpSession, near: ServerConfig) -> _ProviderMetadata | None:
    check_place(issuer, "authorization server", near=near.url)
    for url in provider_metadata_urls(issuer):
        answer = await oauth_requests.get(http, url, what="authorization server", near=near)
        if answer.status >= 500 or answer.status == 429:
            raise UpstreamDown(f"the authorization server answered {answer.status}", hint="try again later")
        found = answer.decode(_ProviderMetadata) if answer.status == 200 else None
        if found is None:
            continue
        if not is_same_issuer(found.issuer, issuer):
            raise UpstreamError(
                f"the authorization server {issuer} says that it is another: {found.issuer[:200]!r}",
                hint="its operator has to fix it; nobody was asked to sign in",
            )
        return found
    return None


def _provider(found: _ProviderMetadata, config: ServerConfig) -> Provider:
    if not found.token_endpoint or not found.authorization_endpoint:
        raise UpstreamError(f"the authorization server of {config.name} has no login", hint=_explicit(config))
    if "S256" not in (found.code_challenge_methods_supported or ()):
        raise UpstreamError(
            f"the authorization server of {config.name} does not say that it protects codes (PKCE, S256)",
            hint=_explicit(config),
        )
    provider = Provider(
        issuer=found.issuer,
        authorization_endpoint=found.authorization_endpoint,
        token_endpoint=found.token_endpoint,
        registration_endpoint=found.registration_endpoint or "",
        device_endpoint=found.device_authorization_endpoint or "",
        revocation_endpoint=found.revocation_endpoint or "",
        scopes=tuple(found.scopes_supported or ()),
        methods=None
        if found.token_endpoint_auth_methods_supported is None
        else tuple(found.token_endpoint_auth_methods_supported),
        takes_client_urls=bool(found.client_id_metadata_document_supported),
        names_itself=bool(found.authorization_response_iss_parameter_supported),
    )
    check_place(provider.authorization_endpoint, "login page", near=config.url)
    return provider


def _read_configured(config: ServerConfig) -> DiscoveredProvider:
    auth = config.auth
    missing = [key for key in ("auth_url", "token_url", "client_id") if not getattr(auth, key)]
    if missing:
        raise ConfigError(
            f"the login of {config.name} is half configured: auth.{missing[0]} is missing",
            hint=f"set it in {config.source}, or none of auth_url and token_url, so that they are found out",
        )
    check_place(auth.auth_url, "configured auth_url", near=config.url)
    return DiscoveredProvider(Provider("", auth.auth_url, auth.token_url), resource_of(config.url), ())


def _explicit(config: ServerConfig) -> str:
    return f"set auth.auth_url, auth.token_url and auth.client_id in {config.source}"
