"""What tests of logins share: a server's configuration, a person with a browser, and a call with what we send."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from binnacle.upstream.auth.grant import LoginGrant, decode, encode, key_of
from binnacle.upstream.auth.login import login
from binnacle.upstream.auth.oauth_authorizer import OAuth
from binnacle.upstream.auth.secret_store import FileSecrets
from binnacle.upstream.configuration.server_config import AuthConfig, ConfigSource, ServerConfig
from binnacle.upstream.redaction import Redactor
from binnacle.upstream.transports.http_client import new_session
from binnacle.upstream.transports.http_session import HttpSession
from upstream.auth.provider import Provider

BOUND = 60
T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    async def bounded() -> T:
        async with asyncio.timeout(BOUND):
            return await work

    return asyncio.run(bounded())


def a_server(url: str, **auth: Any) -> ServerConfig:
    auth.setdefault("type", "oauth")
    return ServerConfig(
        name="crm", transport="http", url=url, auth=AuthConfig(**auth), source=ConfigSource("user", "mcp.json", 3)
    )


class Person:
    """Somebody with a browser, who signs in as soon as they are told where."""

    def __init__(self, http: HttpSession, *, is_here: bool = True) -> None:
        self.told: list[str] = []
        self.landed: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Where the browser ended up."""

        self._http = http
        self._is_here = is_here
        self._tasks: set[asyncio.Task[None]] = set()

    def show(self, line: str) -> None:
        self.told.append(line)
        if line.startswith("http"):
            self._do(self._browse(line))
        elif "enter this code" in line:
            self._do(self._enter(line))

    @property
    def text(self) -> str:
        return "\n".join(self.told)

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _browse(self, url: str) -> None:
        async with (await self._http.open()).get(url, allow_redirects=False) as page:
            target = page.headers.get("Location", "")
        if self._is_here and target:
            async with (await self._http.open()).get(target) as page:
                await page.read()
        if not self.landed.done():
            self.landed.set_result(target)

    async def _enter(self, line: str) -> None:
        address = line.partition("open ")[2].partition(" and ")[0]
        code = line.rpartition(": ")[2]
        async with (await self._http.open()).get(address, params={"user_code": code}) as page:
            assert page.status == 200


class Desk:
    """A person at a machine with a provider to sign in to."""

    def __init__(self, provider: Provider, http: HttpSession, folder: str) -> None:
        self.provider = provider
        self.http = http
        self.secrets = FileSecrets(folder)
        self.redactor = Redactor()
        self.person = Person(http)

    def config(self, **auth: Any) -> ServerConfig:
        return a_server(self.provider.url, **auth)

    async def sign_in(
        self,
        config: ServerConfig | None = None,
        *,
        is_here: bool = True,
        read_redirect: Callable[[], Awaitable[str]] | None = None,
        **how: Any,
    ) -> Person:
        self.person = Person(self.http, is_here=is_here)
        how.setdefault("open_browser", False)
        await login(
            config or self.config(),
            secrets=self.secrets,
            http=self.http,
            show=self.person.show,
            read_redirect=read_redirect,
            redactor=self.redactor,
            **how,
        )
        return self.person

    def authorizer(self, config: ServerConfig | None = None) -> OAuth:
        """As a process has it that was just started."""
        return OAuth(config or self.config(), secrets=self.secrets, http=self.http, redactor=self.redactor)

    async def kept(self, config: ServerConfig | None = None) -> LoginGrant | None:
        config = config or self.config()
        return decode(await self.secrets.load(key_of(config)), config)

    async def keep(self, grant: LoginGrant) -> None:
        await self.secrets.save(key_of(self.config()), encode(grant))

    async def call(self, authorizer: Any, url: str = "") -> int:
        """A request as the links make them: sent once more if something changed. Returns the status."""
        status, challenge = await self._send(authorizer, url)
        if status in (401, 403) and await authorizer.handle_challenge(status, challenge):
            status, _ = await self._send(authorizer, url)
        return status

    async def _send(self, authorizer: Any, url: str) -> tuple[int, str]:
        headers = await authorizer.headers()
        async with (await self.http.open()).post(url or self.provider.url, headers=headers, json={}) as answer:
            await answer.read()
            return answer.status, answer.headers.get("WWW-Authenticate", "")


@contextlib.asynccontextmanager
async def at_desk(folder: Any, **knobs: Any) -> AsyncIterator[Desk]:
    async with Provider(**knobs) as provider, new_session() as http:
        yield Desk(provider, http, str(folder / "logins"))
