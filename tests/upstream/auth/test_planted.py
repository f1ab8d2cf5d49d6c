"""Whatever goes wrong, no secret is in what anybody may read: errors, their causes, what is shown, what is logged."""

import logging
import shlex
import sys
import traceback
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
import pytest

from binnacle.errors import BinnacleError
from binnacle.upstream.auth.callback_listener import CallbackListener
from binnacle.upstream.auth.login import login
from binnacle.upstream.transports.http_client import new_session
from upstream.auth import browser
from upstream.auth.person import Desk, at_desk, run

SECRET = "planted-client-secret"


async def renewal(desk: Desk) -> None:
    """The login is there, and cannot be renewed."""
    desk.provider.revoke_access()
    await desk.call(desk.authorizer(known(desk)))


async def code(desk: Desk) -> None:
    """The code that the provider gave is not taken."""
    desk.provider.clients["known"]["secret"] = "another"
    await desk.sign_in(known(desk))


async def device(desk: Desk) -> None:
    desk.provider.denies = True
    await desk.sign_in(known(desk), device=True)


async def refused(desk: Desk) -> None:
    """The server accepts no token at all, however new."""
    desk.provider.lifetime = -10
    desk.provider.revoke_access()
    asked = desk.authorizer(known(desk))
    assert await desk.call(asked) == 401
    await desk.call(asked)


def known(desk: Desk):
    return desk.config(client_id="known", client_secret=SECRET)


@pytest.mark.parametrize("work", [renewal, code, device, refused])
@pytest.mark.parametrize(
    "failure", ["invalid_grant", "invalid_request", "503", "drop", "redirect:http://127.0.0.1:1/x"]
)
def test_no_error_shows_a_secret(tmp_path, caplog, work: Callable[[Desk], Coroutine[Any, Any, None]], failure):
    caplog.set_level(logging.DEBUG)

    async def main():
        async with at_desk(tmp_path, methods=("client_secret_post",), echoes=True) as desk:
            desk.provider.add_client("known", SECRET, method="client_secret_post")
            await desk.sign_in(known(desk))
            told = list(desk.person.told)
            grant = await desk.kept(known(desk))
            planted = {SECRET, grant.access_token, grant.refresh_token, *desk.provider.codes}
            if work is renewal:
                desk.provider.refresh_fails = failure
            with pytest.raises(BinnacleError) as raised:
                await work(desk)
            planted |= {*desk.provider.codes, *desk.provider.access, *desk.provider.refresh, *desk.provider.devices}
            texts = [
                "".join(traceback.format_exception(raised.value)),
                msgspec.json.encode(raised.value.to_dict()).decode(),
                *told,
                *desk.person.told,
                repr(grant),
                repr(grant.client),
                caplog.text,
            ]
            for secret in planted:
                assert not any(secret in text for text in texts)

    run(main())


def test_processes_are_started_without_secrets(tmp_path, monkeypatch):
    """Every user of a machine sees the arguments of its processes; a browser gets no more than a place to start."""
    monkeypatch.setenv("BROWSER", shlex.join([sys.executable, browser.__file__, "%s"]))
    monkeypatch.setenv("SEEN", str(tmp_path / "seen"))

    async def main():
        async with at_desk(tmp_path) as desk:
            await login(desk.config(), secrets=desk.secrets, http=desk.http, show=lambda _: None)

    run(main())
    arguments = (tmp_path / "seen").read_text()
    assert arguments.count("/start/") == 2
    assert "state" not in arguments
    assert "code_challenge" not in arguments


def test_the_place_to_start_leads_to_the_login_once():
    async def main():
        async with new_session() as http, CallbackListener() as receiver:
            receiver.login_url = "https://login.example/?state=x"
            async with (await http.open()).get(receiver.start_url, allow_redirects=False) as page:
                assert page.headers["Location"] == "https://login.example/?state=x"
            async with (await http.open()).get(receiver.start_url, allow_redirects=False) as page:
                assert page.status == 404

    run(main())
