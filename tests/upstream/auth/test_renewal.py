"""A login is renewed in time, once for everybody, and lost only when its provider says so."""

import asyncio
import contextlib
import os
import sys
import time

import msgspec
import pytest

from binnacle.errors import BinnacleError, ConfigError, UpstreamDown, UpstreamError, UpstreamLogin
from binnacle.upstream.auth.authorizer_factory import make_authorizer
from binnacle.upstream.transports.http_client import HttpClient
from upstream.auth import person, renewer
from upstream.auth.person import Desk, a_server, at_desk, run
from upstream.auth.provider import Provider

TESTS = os.path.dirname(os.path.dirname(os.path.dirname(person.__file__)))


async def expire(desk: Desk, *, left: float = -1.0) -> None:
    """The login that is kept ends in `left` seconds."""
    grant = await desk.kept()
    now = time.time()
    await desk.keep(msgspec.structs.replace(grant, issued_at=now - 3600, expires_at=now + left))
    if left <= 0:
        desk.provider.revoke_access()


def test_many_calls_at_the_end_of_a_token_make_one_renewal(tmp_path):
    async def main():
        async with at_desk(tmp_path) as desk:
            await desk.sign_in()
            await expire(desk)
            desk.provider.slow_refresh = asyncio.Event()
            login = desk.authorizer()
            calls = [asyncio.create_task(desk.call(login)) for _ in range(20)]
            await desk.provider.refreshing.wait()
            desk.provider.slow_refresh.set()
            assert await asyncio.gather(*calls) == [200] * 20
            assert desk.provider.count("refresh") == 1
            assert desk.provider.count("unauthorized") == 1  # the question before the login

    run(main())


def test_two_processes_at_the_end_of_a_token_make_one_renewal(tmp_path):
    async def main():
        async with at_desk(tmp_path) as desk:
            await desk.sign_in()
            await expire(desk)
            desk.provider.slow_refresh = asyncio.Event()
            command = (sys.executable, renewer.__file__, desk.provider.url, str(tmp_path / "logins"))
            environ = {**os.environ, "PYTHONPATH": TESTS}
            processes = [
                await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE, env=environ)
                for _ in range(2)
            ]
            try:
                for process in processes:
                    assert await process.stdout.readline() == b"asking\n"
                await desk.provider.refreshing.wait()
                desk.provider.slow_refresh.set()
                said = [(await process.communicate())[0] for process in processes]
            finally:
                for process in processes:
                    with contextlib.suppress(ProcessLookupError):
                        process.kill()
                    await process.wait()
            assert [process.returncode for process in processes] == [0, 0]
            assert desk.provider.count("refresh") == 1
            assert said[0] == said[1] == f"Bearer {(await desk.kept()).access_token}\n".encode()

    run(main())


def test_after_a_restart_an_expired_login_is_renewed_without_a_person(tmp_path):
    async def main():
        async with at_desk(tmp_path, issuer_path="/tenant") as desk:
            await desk.sign_in()
            await expire(desk)
            asked = desk.provider.count("metadata")
            assert await desk.call(desk.authorizer()) == 200
            assert desk.provider.count("refresh") == 1
            assert desk.provider.count("authorize") == 1
            assert desk.provider.count("metadata") == asked  # everything needed was kept

    run(main())


def test_a_token_about_to_end_is_renewed_while_calls_go_on_with_it(tmp_path):
    async def main():
        async with at_desk(tmp_path) as desk:
            await desk.sign_in()
            await expire(desk, left=30)
            desk.provider.slow_refresh = asyncio.Event()
            login = desk.authorizer()
            before = await login.headers()
            assert await desk.call(login) == 200  # although the renewal hangs
            await desk.provider.refreshing.wait()
            desk.provider.slow_refresh.set()
            await login.aclose()
            assert await login.headers() != before
            assert await desk.call(login) == 200
            assert desk.provider.count("refresh") == 1

    run(main())


def test_a_token_that_is_still_good_is_used_when_it_cannot_be_renewed(tmp_path):
    async def main():
        async with at_desk(tmp_path, refresh_fails="503") as desk:
            await desk.sign_in()
            await expire(desk, left=30)
            login = desk.authorizer()
            for _ in range(5):
                assert await desk.call(login) == 200
                await login.aclose()
            assert desk.provider.count("refresh") == 1  # not tried again at every call

    run(main())


@pytest.mark.parametrize("failure", ["503", "429", "drop", "400", "temporarily_unavailable", "server_error"])
def test_a_provider_in_trouble_does_not_end_a_login(tmp_path, failure):
    async def main():
        async with at_desk(tmp_path, refresh_fails=failure) as desk:
            await desk.sign_in()
            await expire(desk)
            before = await desk.kept()
            login = desk.authorizer()
            with pytest.raises(UpstreamDown) as down:
                await desk.call(login)
            assert down.value.retryable
            assert await desk.kept() == before
            desk.provider.refresh_fails = ""
            assert await desk.call(login) == 200

    run(main())


def test_a_provider_that_is_gone_does_not_end_a_login(tmp_path):
    async def main():
        async with at_desk(tmp_path) as desk:
            await desk.sign_in()
            await expire(desk)
            async with Provider() as gone:
                port = gone.port
            grant = msgspec.structs.replace(await desk.kept(), token_endpoint=f"http://127.0.0.1:{port}/token")
            await desk.keep(grant)
            with pytest.raises(UpstreamDown, match="cannot be reached"):
                await desk.authorizer().headers()
            assert await desk.kept() == grant

    run(main())


@pytest.mark.parametrize("error", ["invalid_grant", "invalid_client"])
def test_a_revoked_login_needs_a_person(tmp_path, error):
    async def main():
        async with at_desk(tmp_path, refresh_fails=error) as desk:
            await desk.sign_in()
            await expire(desk)
            login = desk.authorizer()
            with pytest.raises(UpstreamLogin, match=error) as needed:
                await desk.call(login)
            assert needed.value.hint == "sign in: bn upstream login crm"
            kept = await desk.kept()
            assert (kept.access_token, kept.refresh_token) == ("", "")
            with pytest.raises(UpstreamLogin):
                await desk.call(login)
            assert desk.provider.count("refresh") == 1
            desk.provider.refresh_fails = ""
            await desk.sign_in()
            assert await desk.call(login) == 200  # the process that was told finds the new login

    run(main())


def test_a_client_the_provider_forgot_is_registered_anew(tmp_path):
    async def main():
        async with at_desk(tmp_path) as desk:
            await desk.sign_in()
            await expire(desk)
            desk.provider.clients.clear()
            with pytest.raises(UpstreamLogin, match="invalid_client"):
                await desk.call(desk.authorizer())
            await desk.sign_in()
            assert desk.provider.count("register") == 2
            assert await desk.call(desk.authorizer()) == 200

    run(main())


def test_refused_in_the_middle_calls_are_sent_again_after_one_renewal(tmp_path):
    async def main():
        async with at_desk(tmp_path) as desk:
            await desk.sign_in()
            login = desk.authorizer()
            assert await desk.call(login) == 200
            desk.provider.revoke_access()
            assert await asyncio.gather(*(desk.call(login) for _ in range(20))) == [200] * 20
            assert desk.provider.count("refresh") == 1

    run(main())


def test_a_link_sends_again_what_was_refused_in_the_middle(tmp_path):
    async def main():
        async with at_desk(tmp_path) as desk:
            await desk.sign_in()
            login = desk.authorizer()
            web = HttpClient(desk.config(), session=desk.http, credentials=login)
            for _ in range(2):
                answer = await web.send("POST", {}, b"{}")
                assert answer.status == 200
                desk.provider.revoke_access()
            web.close()
            assert desk.provider.count("refresh") == 1

    run(main())


def test_a_server_that_refuses_every_token_does_not_get_one_after_another(tmp_path):
    async def main():
        async with at_desk(tmp_path) as desk:
            await desk.sign_in()
            login = desk.authorizer()
            desk.provider.lifetime, desk.provider.expires_in = -10, 3600
            desk.provider.revoke_access()
            assert await desk.call(login) == 401
            for _ in range(3):
                with pytest.raises(UpstreamLogin, match="refuses a token that is new"):
                    await desk.call(login)
            assert desk.provider.count("refresh") == 1

    run(main())


def test_a_late_refusal_of_an_older_token_renews_nothing(tmp_path):
    async def main():
        async with at_desk(tmp_path) as desk:
            await desk.sign_in()
            login = desk.authorizer()
            await login.headers()

            async def slow() -> bool:
                await login.headers()
                sent.set()
                await renewed.wait()
                return await login.handle_challenge(401, "Bearer")

            sent, renewed = asyncio.Event(), asyncio.Event()
            late = asyncio.create_task(slow())
            await sent.wait()
            desk.provider.revoke_access()
            assert await desk.call(login) == 200
            renewed.set()
            assert await late
            assert desk.provider.count("refresh") == 1

    run(main())


def test_a_token_without_renewal_that_is_refused_needs_a_person(tmp_path):
    async def main():
        async with at_desk(tmp_path) as desk:
            await desk.sign_in()
            await desk.keep(msgspec.structs.replace(await desk.kept(), refresh_token=""))
            login = desk.authorizer()
            assert await desk.call(login) == 200
            desk.provider.revoke_access()
            with pytest.raises(UpstreamLogin, match="has expired"):
                await desk.call(login)

    run(main())


def test_refresh_tokens_are_replaced_or_stay(tmp_path):
    async def main():
        async with at_desk(tmp_path) as desk:
            await desk.sign_in()
            seen = []
            for rotates in (True, True, False, False):
                desk.provider.rotates = rotates
                desk.provider.revoke_access()
                assert await desk.call(desk.authorizer()) == 200
                seen.append((await desk.kept()).refresh_token)
            assert len(set(seen)) == 2
            assert not desk.provider.refusals

    run(main())


def test_a_caller_that_gives_up_does_not_lose_the_login(tmp_path):
    async def main():
        async with at_desk(tmp_path) as desk:
            await desk.sign_in()
            await expire(desk)
            desk.provider.slow_refresh = asyncio.Event()
            login = desk.authorizer()
            call = asyncio.create_task(desk.call(login))
            await desk.provider.refreshing.wait()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            desk.provider.slow_refresh.set()
            await login.aclose()
            assert await desk.call(desk.authorizer()) == 200
            assert desk.provider.count("refresh") == 1

    run(main())


def test_more_is_asked_for_when_the_server_wants_more(tmp_path):
    async def main():
        async with at_desk(tmp_path) as desk:
            await desk.sign_in()
            login = desk.authorizer()
            desk.provider.wanted_scope = "read admin"
            with pytest.raises(UpstreamLogin, match="it also wants: read admin") as needed:
                await desk.call(login)
            assert needed.value.hint == "sign in: bn upstream login crm"
            desk.provider.wanted_scope = ""
            assert await desk.call(login) == 200  # for everything else the login is as good as before
            desk.provider.wanted_scope = "read admin"
            await desk.sign_in()
            assert desk.provider.authorizations[-1]["scope"] == "read admin"
            assert await desk.call(login) == 200
            assert (await desk.kept()).wanted == ()

    run(main())


def test_a_plain_403_is_handed_on(tmp_path):
    async def main():
        async with at_desk(tmp_path) as desk:
            await desk.sign_in()
            login = desk.authorizer()
            await login.headers()
            assert not await login.handle_challenge(403, "")
            assert not await login.handle_challenge(403, 'Basic realm="x"')

    run(main())


def test_tokens_follow_no_redirect(tmp_path):
    async def main():
        async with Provider() as thief, at_desk(tmp_path) as desk:
            desk.provider.refresh_fails = f"redirect:{thief.origin}/token"
            await desk.sign_in()
            await expire(desk)
            with pytest.raises(UpstreamError, match="redirects to"):
                await desk.call(desk.authorizer())
            assert thief.counts == {}
            desk.provider.refresh_fails = ""
            assert await desk.call(desk.authorizer()) == 200

    run(main())


def test_a_login_is_for_the_server_and_provider_it_was_made_with(tmp_path):
    async def main():
        async with at_desk(tmp_path) as desk:
            await desk.sign_in()
            thief = desk.config(auth_url="https://evil.example/a", token_url="https://evil.example/t", client_id="x")
            for other in (a_server(f"{desk.provider.origin}/other"), a_server("https://evil.example/mcp"), thief):
                with pytest.raises(UpstreamLogin):
                    await desk.authorizer(other).headers()

    run(main())


def test_without_a_word_about_auth_a_login_is_used_when_the_server_wants_one(tmp_path):
    async def main():
        async with at_desk(tmp_path) as desk:
            config = desk.config(type="none")
            login = make_authorizer(config, secrets=desk.secrets, http=desk.http)
            assert await login.headers() == {}
            with pytest.raises(UpstreamLogin, match="wants to know who asks") as needed:
                await desk.call(login)
            assert needed.value.hint == "sign in: bn upstream login crm"
            await desk.sign_in(config)
            assert await desk.call(login) == 200
            again = make_authorizer(config, secrets=desk.secrets, http=desk.http)
            assert await again.headers() == {}
            assert await desk.call(again) == 200

    run(main())


@pytest.mark.parametrize("expires_in", ["3600", 3600.5, 0, -5, "soon", 1e300])
def test_odd_lifetimes_are_taken_as_they_can_be(tmp_path, expires_in):
    async def main():
        async with at_desk(tmp_path, expires_in=expires_in) as desk:
            await desk.sign_in()
            assert await desk.call(desk.authorizer()) == 200

    run(main())


def test_a_login_that_cannot_be_kept_is_used_all_the_same(tmp_path):
    async def main():
        async with at_desk(tmp_path) as desk:
            await desk.sign_in()
            login = desk.authorizer()
            await login.headers()
            desk.provider.revoke_access()

            async def full(key: str, secret: str) -> None:
                raise ConfigError("no space left")

            keep, desk.secrets.save = desk.secrets.save, full
            with pytest.raises(ConfigError):
                await desk.call(login)
            assert await desk.call(login) == 200
            assert desk.provider.count("refresh") == 1
            desk.secrets.save = keep
            desk.provider.revoke_access()
            assert await desk.call(login) == 200
            assert await desk.call(desk.authorizer()) == 200  # and now it is kept
            assert desk.provider.count("refresh") == 2
            assert not desk.provider.refusals

    run(main())


def test_a_damaged_login_is_as_none(tmp_path):
    async def main():
        async with at_desk(tmp_path) as desk:
            await desk.sign_in()
            (name,) = [one for one in os.listdir(tmp_path / "logins") if one.endswith(".json")]
            (tmp_path / "logins" / name).write_bytes(b'{"version": 9, "\xff')
            with pytest.raises(BinnacleError, match="nobody has signed in"):
                await desk.authorizer().headers()
            await desk.sign_in()
            assert await desk.call(desk.authorizer()) == 200

    run(main())
