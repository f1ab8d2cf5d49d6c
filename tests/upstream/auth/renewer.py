"""A process that uses a login: says that it asks, then the token it got."""

import asyncio
import sys

from binnacle.upstream.auth.oauth_authorizer import OAuth
from binnacle.upstream.auth.secret_store import FileSecrets
from binnacle.upstream.redaction import Redactor
from binnacle.upstream.transports.http_client import new_session
from upstream.auth.person import a_server


async def main(url: str, folder: str) -> None:
    async with asyncio.timeout(60), new_session() as http:
        login = OAuth(a_server(url), secrets=FileSecrets(folder), http=http, redactor=Redactor())
        print("asking", flush=True)
        headers = await login.headers()
        print(headers["Authorization"], flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
