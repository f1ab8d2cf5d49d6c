"""Which upstream servers nobody has signed in to, as far as that is known without connecting to them."""

import asyncio
from contextlib import suppress

from msgspec import Struct

from binnacle.errors import BinnacleError
from binnacle.project.project import Project
from binnacle.upstream.auth.grant import key_of
from binnacle.upstream.auth.secret_store import open_secrets
from binnacle.upstream.configuration.server_config import ServerConfig
from binnacle.upstream.configuration.server_overview import read_overview
from binnacle.upstream.configuration.server_trust import is_allowed


class WaitingLogin(Struct, frozen=True, kw_only=True):
    """A server that wants a login and has none."""

    server: str
    url: str
    command: str
    """What a person runs to sign in."""


async def find_waiting_logins(project: Project) -> list[WaitingLogin]:
    """The servers that are configured to need a login, and for which none is kept.

    A server that asks for one only when it is connected is not among them, and neither is one whose login has expired.
    """
    configured = await asyncio.to_thread(_list_configured, project)
    if not configured:
        return []
    secrets = open_secrets()
    found = []
    for config in configured:
        with suppress(BinnacleError):
            if not await secrets.load(key_of(config)):
                found.append(config)
    return [
        WaitingLogin(server=one.name, url=one.url, command=f"bn upstream login {one.name} --no-browser")
        for one in found
    ]


def _list_configured(project: Project) -> list[ServerConfig]:
    with suppress(BinnacleError):
        known = (one.config for one in read_overview(project.repo).servers.values())
        return [
            one for one in known if one and one.enabled and one.auth.type == "oauth" and is_allowed(one, project.repo)
        ]
    return []
