"""A person signs out: the provider is told, and nothing is kept whatever it says."""

import os

import pytest

from binnacle.errors import UpstreamLogin
from binnacle.upstream.auth.login import SignedOut, logout
from upstream.auth.person import Desk, at_desk, run


async def sign_out(desk: Desk) -> SignedOut:
    return await logout(desk.config(), secrets=desk.secrets, http=desk.http)


@pytest.mark.parametrize("method", ["none", "client_secret_basic", "client_secret_post"])
def test_signing_out_revokes_and_forgets_the_login(tmp_path, method):
    async def main():
        async with at_desk(tmp_path, methods=(method,)) as desk:
            await desk.sign_in()
            running = desk.authorizer()
            assert await desk.call(running) == 200
            assert await sign_out(desk) == (True, "")
            assert (desk.provider.access, desk.provider.refresh, desk.provider.refusals) == ({}, {}, [])
            assert await sign_out(desk) == (False, "")
            for one in (running, desk.authorizer()):
                with pytest.raises(UpstreamLogin):
                    await desk.call(one)

    run(main())


@pytest.mark.parametrize(
    ("knobs", "told"),
    [
        ({"revokes": False}, "does not say how"),
        ({"revocation_fails": "invalid_request", "echoes": True}, "invalid_request: refused"),
        ({"revocation_fails": "unsupported_token_type"}, "unsupported_token_type"),
        ({"revocation_fails": "503"}, "answered 503"),
        ({"revocation_fails": "404"}, "answered 404"),
        ({"revocation_fails": "drop"}, "revocation of tokens"),
        ({"revocation_fails": "redirect:http://127.0.0.1:1/x"}, "which was not followed"),
    ],
)
def test_what_cannot_be_revoked_is_forgotten_all_the_same_and_that_is_said(tmp_path, knobs, told):
    async def main():
        async with at_desk(tmp_path, **knobs) as desk:
            await desk.sign_in()
            kept = await desk.kept()
            was_there, still_good = await sign_out(desk)
            assert was_there
            assert told in still_good
            assert not [secret for secret in (kept.access_token, kept.refresh_token) if secret in still_good]
            assert await desk.kept() is None

    run(main())


def test_a_provider_that_is_gone_does_not_keep_anyone_signed_in(tmp_path):
    async def main():
        async with at_desk(tmp_path) as desk:
            await desk.sign_in()
            await desk.provider.__aexit__()
            was_there, still_good = await sign_out(desk)
            assert was_there
            assert "revocation of tokens" in still_good
            assert await desk.kept() is None

    run(main())


def test_an_access_token_that_only_ends_with_its_refresh_token_is_no_failure(tmp_path):
    async def main():
        async with at_desk(tmp_path, takes_back=("refresh_token",)) as desk:
            await desk.sign_in()
            assert await sign_out(desk) == (True, "")
            assert desk.provider.count("revoke") == 2
            assert not desk.provider.access

    run(main())


def test_a_process_that_runs_uses_a_login_no_longer_than_it_is_kept(tmp_path):
    async def main():
        async with at_desk(tmp_path, revokes=False) as desk:
            await desk.sign_in()
            running = desk.authorizer()
            assert await desk.call(running) == 200
            running.reconsider()
            assert await desk.call(running) == 200
            await sign_out(desk)
            running.reconsider()
            with pytest.raises(UpstreamLogin):
                await desk.call(running)

    run(main())


def test_signing_out_leaves_nothing_behind(tmp_path):
    async def main():
        async with at_desk(tmp_path) as desk:
            await desk.sign_in()
            await sign_out(desk)
            with pytest.raises(UpstreamLogin) as needed:
                await desk.call(desk.authorizer())
            assert needed.value.hint == "sign in: bn upstream login crm"
            assert [name for name in os.listdir(tmp_path / "logins") if name.endswith(".json")] == []

    run(main())
