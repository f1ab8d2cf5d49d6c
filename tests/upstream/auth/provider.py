"""An authorization server and the MCP server that it protects, on loopback, as strict as a careful operator's.

It checks PKCE, redirects, states that must be there, resources, clients, codes that work once, refresh tokens that
are replaced at each use, device codes and their pace; what is revoked is worthless at once. What it refuses it says in
`refusals`; tests turn its knobs.
"""

import asyncio
import base64
import hashlib
import json
import secrets
import time
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from aiohttp import web

DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"


TOOL = {"name": "whoami", "description": "Says that one is in.", "inputSchema": {"type": "object"}}
RESULTS: dict[str, Any] = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "crm"}},
    "tools/list": {"tools": [TOOL]},
    "tools/call": {"content": [{"type": "text", "text": "you are in"}]},
}


def _said(body: bytes) -> dict[str, Any] | None:
    """What the MCP server says to a message; None to a notification."""
    asked = json.loads(body)
    method = asked.get("method", "")
    if method.startswith("notifications/"):
        return None
    if method == "server/discover":
        return {"id": asked["id"], "error": {"code": -32601, "message": "unknown"}}
    return {"id": asked.get("id", 0), "result": RESULTS.get(method, {})}


@dataclass
class Code:
    client_id: str
    redirect_uri: str
    challenge: str
    resource: str
    scope: str


@dataclass
class Device:
    client_id: str
    resource: str
    scope: str
    user_code: str
    state: str = "pending"
    polls: int = 0


@dataclass
class Token:
    client_id: str
    resource: str
    scope: str
    expires_at: float


@dataclass
class Refusal:
    """What was wrong with a request."""

    where: str
    error: str


@dataclass
class Provider:
    """Runs from entering to leaving it. Its knobs may be turned at any time."""

    path: str = "/mcp"
    issuer_path: str = ""
    """Where the issuer is below its host: `/tenant` for one of several."""

    metadata_at: str = "oauth"
    """Which of the well-known places describes the provider: oauth, openid, openid-appended, or none."""

    resource_metadata_at: str = "header"
    """Where the server describes itself: header, path, root, or none."""

    says_issuer: str = ""
    """The issuer in the metadata, if not the real one."""

    answers_issuer: str | None = ""
    """The `iss` in answers of the login page: the real one, another, or None for none at all."""

    methods: tuple[str, ...] | None = ("none",)
    pkce: tuple[str, ...] | None = ("S256",)
    registers: bool = True
    takes_client_urls: bool = False
    has_devices: bool = True
    revokes: bool = True
    takes_back: tuple[str, ...] = ("refresh_token", "access_token")
    """The kinds of tokens that can be revoked."""

    revocation_fails: str = ""
    """As `refresh_fails`."""

    scopes_supported: tuple[str, ...] | None = None
    server_scopes: tuple[str, ...] | None = ("read",)
    wanted_scope: str = ""
    """What calls of the server need beyond any token; asked for by 403."""

    lifetime: float = 3600.0
    expires_in: Any = None
    """What the token answer says instead of the lifetime."""

    rotates: bool = True
    refresh_fails: str = ""
    """An error, a status such as `503`, `hang`, `drop`, or `redirect:URL`."""

    echoes: bool = False
    """Whether errors repeat what was sent, as careless providers do."""

    denies: bool = False
    clients: dict[str, dict[str, Any]] = field(default_factory=dict)
    codes: dict[str, Code] = field(default_factory=dict)
    access: dict[str, Token] = field(default_factory=dict)
    refresh: dict[str, Token] = field(default_factory=dict)
    devices: dict[str, Device] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)
    authorizations: list[dict[str, str]] = field(default_factory=list)
    registrations: list[dict[str, Any]] = field(default_factory=list)
    refreshing: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a refresh was asked for."""

    slow_refresh: asyncio.Event | None = None
    """A refresh waits for it."""

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_route("*", "/{rest:.*}", self._route)
        self._runner = web.AppRunner(app, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def issuer(self) -> str:
        return self.origin + self.issuer_path

    @property
    def url(self) -> str:
        return self.origin + self.path

    def count(self, what: str) -> int:
        return self.counts.get(what, 0)

    def revoke_access(self) -> None:
        """Access tokens that are out there are not accepted any more."""
        self.access.clear()

    def add_client(self, client_id: str, secret: str = "", *, method: str = "none") -> None:
        self.clients[client_id] = {"secret": secret, "method": method, "redirect_uris": None}

    async def _route(self, request: web.Request) -> web.StreamResponse:
        base = self.issuer_path
        pages = {
            self.path: self._serve,
            f"{base}/authorize": self._authorize,
            f"{base}/token": self._token,
            f"{base}/register": self._register,
            f"{base}/device": self._device,
            f"{base}/revoke": self._revoke,
            f"{base}/approve": self._approve,
        }
        if page := pages.get(request.path):
            return await page(request)
        if request.path in self._descriptions():
            self._counted("resource_metadata")
            return web.json_response(self._resource_metadata())
        if request.path == self._metadata_path():
            self._counted("metadata")
            return web.json_response(self._metadata())
        return web.Response(status=404)

    def _descriptions(self) -> list[str]:
        root = "/.well-known/oauth-protected-resource"
        return {"header": ["/described-here"], "path": [root + self.path], "root": [root]}.get(
            self.resource_metadata_at, []
        )

    def _metadata_path(self) -> str:
        base = self.issuer_path
        return {
            "oauth": f"/.well-known/oauth-authorization-server{base}",
            "openid": f"/.well-known/openid-configuration{base}",
            "openid-appended": f"{base}/.well-known/openid-configuration",
        }.get(self.metadata_at, "")

    def _resource_metadata(self) -> dict[str, Any]:
        found: dict[str, Any] = {"resource": self.url, "authorization_servers": [self.issuer]}
        return found | ({"scopes_supported": list(self.server_scopes)} if self.server_scopes else {})

    def _metadata(self) -> dict[str, Any]:
        base = self.issuer
        found: dict[str, Any] = {
            "issuer": self.says_issuer or base,
            "authorization_endpoint": f"{base}/authorize",
            "token_endpoint": f"{base}/token",
            "response_types_supported": ["code"],
            "authorization_response_iss_parameter_supported": self.answers_issuer is not None,
            "client_id_metadata_document_supported": self.takes_client_urls,
            "registration_endpoint": f"{base}/register" if self.registers else None,
            "revocation_endpoint": f"{base}/revoke" if self.revokes else None,
            "device_authorization_endpoint": f"{base}/device" if self.has_devices else None,
            "code_challenge_methods_supported": self.pkce,
            "token_endpoint_auth_methods_supported": self.methods,
            "scopes_supported": self.scopes_supported,
        }
        return {key: value for key, value in found.items() if value is not None}

    async def _serve(self, request: web.Request) -> web.Response:
        """The MCP server: whoever has a token gets an answer."""
        self._counted("calls")
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        found = self.access.get(token)
        if scheme != "Bearer" or found is None or found.expires_at < time.time() or found.resource != self.url:
            self._counted("unauthorized")
            extra = (
                f', resource_metadata="{self.origin}/described-here"' if self.resource_metadata_at == "header" else ""
            )
            return web.Response(status=401, headers={"WWW-Authenticate": f'Bearer error="invalid_token"{extra}'})
        if not set(self.wanted_scope.split()) <= set(found.scope.split()):
            header = f'Bearer error="insufficient_scope", scope="{self.wanted_scope}"'
            return web.Response(status=403, headers={"WWW-Authenticate": header})
        if request.method != "POST":
            return web.Response(status=405)
        said = _said(await request.read())
        return web.Response(status=202) if said is None else web.json_response({"jsonrpc": "2.0", **said})

    async def _authorize(self, request: web.Request) -> web.Response:
        self._counted("authorize")
        asked = dict(request.query)
        self.authorizations.append(asked)
        client = self._client(asked.get("client_id", ""))
        uri = asked.get("redirect_uri", "")
        if client is None or not self._allows(client, uri):
            return self._refuse("authorize", "invalid_redirect_uri")  # never redirected to
        is_protected = asked.get("code_challenge_method") == "S256" and len(asked.get("code_challenge", "")) == 43
        wrong = ""
        if asked.get("response_type") != "code" or not asked.get("state") or not is_protected:
            wrong = "invalid_request"
        elif asked.get("resource") != self.url:
            wrong = "invalid_target"
        answer = {"state": asked.get("state", "")}
        if self.answers_issuer is not None:
            answer["iss"] = self.answers_issuer or self.issuer
        if wrong or self.denies:
            self.refusals.append(Refusal("authorize", wrong or "access_denied"))
            answer |= {"error": wrong or "access_denied", "error_description": "the person said no"}
        else:
            code = secrets.token_urlsafe(24)
            scope = asked.get("scope", "")
            self.codes[code] = Code(asked["client_id"], uri, asked["code_challenge"], asked["resource"], scope)
            answer["code"] = code
        return web.Response(status=302, headers={"Location": f"{uri}?{urlencode(answer)}"})

    async def _register(self, request: web.Request) -> web.Response:
        self._counted("register")
        asked = await request.json()
        self.registrations.append(asked)
        uris = asked.get("redirect_uris", [])
        if not uris or any(urlsplit(one).hostname != "127.0.0.1" for one in uris):
            return self._refuse("register", "invalid_redirect_uri")
        method = asked.get("token_endpoint_auth_method", "client_secret_basic")
        if self.methods is not None and method not in self.methods:
            return self._refuse("register", "invalid_client_metadata")
        client_id = f"client-{secrets.token_urlsafe(8)}"
        secret = "" if method == "none" else secrets.token_urlsafe(24)
        self.clients[client_id] = {"secret": secret, "method": method, "redirect_uris": uris}
        answer = {**asked, "client_id": client_id} | ({"client_secret": secret} if secret else {})
        return web.json_response(answer, status=201)

    async def _token(self, request: web.Request) -> web.StreamResponse:
        form = dict(parse_qsl(await request.text()))
        kind = form.get("grant_type", "")
        self._counted("token")
        client_id = self._authenticated(request, form)
        if client_id is None:
            return self._refuse("token", "invalid_client", form, status=401)
        if form.get("resource") != self.url:
            return self._refuse("token", "invalid_target", form)
        match kind:
            case "authorization_code":
                return self._exchange(form, client_id)
            case "refresh_token":
                return await self._refreshed(request, form, client_id)
            case _ if kind == DEVICE_GRANT:
                return self._polled(form, client_id)
            case _:
                return self._refuse("token", "unsupported_grant_type", form)

    def _exchange(self, form: dict[str, str], client_id: str) -> web.Response:
        code = self.codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if code is None or (code.client_id, code.redirect_uri, code.challenge) != (
            client_id,
            form.get("redirect_uri"),
            challenge,
        ):
            return self._refuse("token", "invalid_grant", form)
        return self._issue(Token(client_id, code.resource, code.scope, 0.0))

    async def _refreshed(self, request: web.Request, form: dict[str, str], client_id: str) -> web.StreamResponse:
        self._counted("refresh")
        self.refreshing.set()
        if self.slow_refresh is not None:
            await self.slow_refresh.wait()
        if self.refresh_fails:
            return self._failed(self.refresh_fails, request, "token", form)
        found = self.refresh.get(form.get("refresh_token", ""))
        if found is None or found.client_id != client_id:
            return self._refuse("token", "invalid_grant", form)
        if self.rotates:
            del self.refresh[form["refresh_token"]]
        return self._issue(found, again=not self.rotates)

    def _failed(self, failure: str, request: web.Request, where: str, form: dict[str, str]) -> web.Response:
        how, _, what = failure.partition(":")
        match how:
            case "redirect":
                return web.Response(status=307, headers={"Location": what})
            case "drop":
                assert request.transport is not None
                request.transport.abort()
                return web.Response()
            case _ if how.isdigit():
                return web.Response(status=int(how), text="<html>gone for lunch</html>")
            case _:
                return self._refuse(where, how, form)

    async def _revoke(self, request: web.Request) -> web.Response:
        """Takes a token back, and with a refresh token all that was given for it."""
        self._counted("revoke")
        form = dict(parse_qsl(await request.text()))
        client_id = self._authenticated(request, form)
        if client_id is None:
            return self._refuse("revoke", "invalid_client", form, status=401)
        if self.revocation_fails:
            return self._failed(self.revocation_fails, request, "revoke", form)
        if form.get("token_type_hint") not in self.takes_back:
            return self._refuse("revoke", "unsupported_token_type", form)
        token = form.get("token", "")
        if token in self.refresh and self.refresh.pop(token).client_id == client_id:
            self.access = {key: one for key, one in self.access.items() if one.client_id != client_id}
        self.access.pop(token, None)
        return web.Response()

    def _issue(self, token: Token, *, again: bool = False) -> web.Response:
        access, fresh = (f"{kind}-{secrets.token_urlsafe(24)}" for kind in ("access", "refresh"))
        issued = Token(token.client_id, token.resource, token.scope, time.time() + self.lifetime)
        self.access[access] = issued
        answer: dict[str, Any] = {
            "access_token": access,
            "token_type": "Bearer",
            "expires_in": self.lifetime if self.expires_in is None else self.expires_in,
        }
        if not again:
            self.refresh[fresh] = issued
            answer["refresh_token"] = fresh
        return web.json_response(answer, headers={"Cache-Control": "no-store"})

    async def _device(self, request: web.Request) -> web.Response:
        self._counted("device")
        form = dict(parse_qsl(await request.text()))
        client_id = self._authenticated(request, form)
        if client_id is None or form.get("resource") != self.url:
            return self._refuse("device", "invalid_client", form)
        code, user_code = secrets.token_urlsafe(24), secrets.token_hex(4).upper()
        self.devices[code] = Device(client_id, form["resource"], form.get("scope", ""), user_code)
        return web.json_response(
            {
                "device_code": code,
                "user_code": user_code,
                "verification_uri": f"{self.issuer}/approve",
                "verification_uri_complete": f"{self.issuer}/approve?user_code={user_code}",
                "expires_in": 60,
                "interval": 0.2,
            }
        )

    async def _approve(self, request: web.Request) -> web.Response:
        """The page where a person enters the code."""
        for device in self.devices.values():
            if device.user_code == request.query.get("user_code"):
                device.state = "denied" if self.denies else "approved"
                return web.Response(text="thank you")
        return web.Response(status=404)

    def _polled(self, form: dict[str, str], client_id: str) -> web.Response:
        device = self.devices.get(form.get("device_code", ""))
        if device is None or device.client_id != client_id:
            return self._refuse("token", "invalid_grant", form)
        device.polls += 1
        match device.state:
            case "pending":
                return web.json_response({"error": "authorization_pending"}, status=400)
            case "denied":
                return self._refuse("token", "access_denied", form)
            case _:
                del self.devices[form["device_code"]]
                return self._issue(Token(client_id, device.resource, device.scope, 0.0))

    def _client(self, client_id: str) -> dict[str, Any] | None:
        if self.takes_client_urls and client_id.startswith("https://"):
            return {"secret": "", "method": "none", "redirect_uris": None}
        return self.clients.get(client_id)

    def _allows(self, client: dict[str, Any], uri: str) -> bool:
        """Registered redirects hold to the letter; clients known otherwise may use any port of this machine."""
        if client["redirect_uris"] is not None:
            return uri in client["redirect_uris"]
        parts = urlsplit(uri)
        return parts.scheme == "http" and parts.hostname == "127.0.0.1" and parts.path == "/callback"

    def _authenticated(self, request: web.Request, form: dict[str, str]) -> str | None:
        """Who asks, if they said it in the way that was agreed on."""
        header = request.headers.get("Authorization", "")
        if header.startswith("Basic "):
            client_id, _, secret = base64.b64decode(header[6:]).decode().partition(":")
            client_id, secret, method = unquote(client_id), unquote(secret), "client_secret_basic"
        else:
            client_id, secret = form.get("client_id", ""), form.get("client_secret", "")
            method = "client_secret_post" if secret else "none"
        client = self._client(client_id)
        if client is None or (client["secret"], client["method"]) != (secret, method):
            return None
        return client_id

    def _refuse(self, where: str, error: str, form: dict[str, str] | None = None, *, status: int = 400) -> web.Response:
        self.refusals.append(Refusal(where, error))
        told = f"refused: {form}" if self.echoes else "refused"
        return web.json_response({"error": error, "error_description": told}, status=status)

    def _counted(self, what: str) -> None:
        self.counts[what] = self.count(what) + 1
