"""Signs a person in to an upstream server and out of it. Heavy: loads what connects."""

import asyncio
import contextlib
import os

from binnacle.errors import Refused
from binnacle.upstream.auth import login as upstream_auth
from binnacle.upstream.auth.login import ReadRedirect, Show, SignedOut
from binnacle.upstream.auth.secret_store import open_secrets
from binnacle.upstream.configuration.config_paths import logins_folder
from binnacle.upstream.configuration.server_config import ServerConfig
from binnacle.upstream.configuration.server_trust import is_allowed
from binnacle.upstream.transports.http_client import new_session


def sign_in(
    config: ServerConfig,
    repo: str,
    *,
    show: Show,
    read_redirect: ReadRedirect | None,
    open_browser: bool,
    device: bool,
) -> str:
    """The same as `wait_for_login`, for a command."""
    work = wait_for_login(
        config, repo, show=show, read_redirect=read_redirect, open_browser=open_browser, device=device
    )
    return asyncio.run(work)


async def wait_for_login(
    config: ServerConfig,
    repo: str,
    *,
    show: Show,
    read_redirect: ReadRedirect | None = None,
    open_browser: bool = False,
    device: bool = False,
) -> str:
    """Signs a person in to a server of the project in `repo`. Returns where the login is kept.

    Raises:
        Refused: nobody has trusted the server.
        UpstreamLogin: it did not come to a login.
    """
    if not is_allowed(config, repo):
        raise Refused(f"{config.name} is not trusted", hint=f"look at it with: bn trust server:{config.name}")
    secrets = open_secrets()
    async with new_session() as http:
        await upstream_auth.login(
            config,
            secrets=secrets,
            http=http,
            show=show,
            read_redirect=read_redirect,
            open_browser=open_browser,
            device=device,
        )
    _notify_running_servers()
    return secrets.where


def sign_out(config: ServerConfig) -> SignedOut:
    """The same as `end_login`, for a command."""
    return asyncio.run(end_login(config))


async def end_login(config: ServerConfig) -> SignedOut:
    """Revokes the login of a server where that is possible, and forgets it."""
    async with new_session() as http:
        done = await upstream_auth.logout(config, secrets=open_secrets(), http=http)
    _notify_running_servers()
    return done


def _notify_running_servers() -> None:
    """They look at this folder, also where the login itself is in a keyring."""
    with contextlib.suppress(OSError):
        os.utime(logins_folder())
