"""A person signs in, whatever the provider offers; whatever does not fit together is refused."""

import asyncio
import shlex
import sys
from urllib.parse import parse_qsl, urlsplit

import pytest

from binnacle.errors import ConfigError, UpstreamDown, UpstreamError, UpstreamLogin
from binnacle.upstream.auth.login import login
from upstream.auth import browser
from upstream.auth.person import a_server, at_desk, run


@pytest.mark.parametrize(
    "knobs",
    [
        {},
        {"resource_metadata_at": "path"},
        {"resource_metadata_at": "root"},
        {"resource_metadata_at": "path", "path": "/some/where/mcp"},
        {"issuer_path": "/tenant"},
        {"issuer_path": "/tenant", "metadata_at": "openid"},
        {"issuer_path": "/tenant", "metadata_at": "openid-appended"},
        {"metadata_at": "openid"},
        {"resource_metadata_at": "none"},
        {"resource_metadata_at": "none", "metadata_at": "none"},
    ],
    ids=str,
)
def test_a_person_signs_in_wherever_the_provider_describes_itself(tmp_path, knobs):
    async def main():
        async with at_desk(tmp_path, **knobs) as desk:
            await desk.sign_in()
            assert await desk.call(desk.authorizer()) == 200
            assert not desk.provider.refusals
            (asked,) = desk.provider.authorizations
            assert asked["resource"] == desk.provider.url
            assert asked["code_challenge_method"] == "S256"
            grant = await desk.kept()
            assert (grant.issuer, grant.resource) == (desk.provider.issuer, desk.provider.url)
            assert grant.expires_at is not None

    run(main())


def test_the_browser_of_the_person_is_opened(tmp_path, monkeypatch):
    monkeypatch.setenv("BROWSER", shlex.join([sys.executable, browser.__file__, "%s"]))

    async def main():
        async with at_desk(tmp_path) as desk:
            told: list[str] = []
            await login(desk.config(), secrets=desk.secrets, http=desk.http, show=told.append)
            assert told[0].startswith("A browser opens")
            assert await desk.call(desk.authorizer()) == 200

    run(main())


@pytest.mark.parametrize("method", ["none", "client_secret_basic", "client_secret_post"])
def test_we_register_and_say_who_we_are_as_the_provider_wants_it(tmp_path, method):
    async def main():
        async with at_desk(tmp_path, methods=(method,)) as desk:
            await desk.sign_in()
            assert desk.provider.registrations[0]["token_endpoint_auth_method"] == method
            assert desk.provider.registrations[0]["application_type"] == "native"
            desk.provider.revoke_access()
            assert await desk.call(desk.authorizer()) == 200  # the refresh says it the same way
            assert not desk.provider.refusals

    run(main())


@pytest.mark.parametrize("method", ["none", "client_secret_basic", "client_secret_post"])
def test_a_client_that_is_configured_is_used(tmp_path, method):
    async def main():
        async with at_desk(tmp_path, methods=(method,)) as desk:
            secret = "" if method == "none" else "s3cret:/ +ü"
            desk.provider.add_client("known", secret, method=method)
            config = desk.config(client_id="known", client_secret=secret)
            await desk.sign_in(config)
            assert await desk.call(desk.authorizer(config)) == 200
            assert desk.provider.count("register") == 0

    run(main())


def test_a_url_that_describes_us_is_used_where_it_is_taken(tmp_path):
    async def main():
        async with at_desk(tmp_path, takes_client_urls=True) as desk:
            config = desk.config(client_metadata_url="https://example.com/binnacle.json")
            await desk.sign_in(config)
            assert desk.provider.authorizations[0]["client_id"] == "https://example.com/binnacle.json"
            assert desk.provider.count("register") == 0
            desk.provider.takes_client_urls = False
            await desk.sign_in(config)
            assert desk.provider.count("register") == 1

    run(main())


def test_without_any_way_to_be_known_it_is_said_what_to_configure(tmp_path):
    async def main():
        async with at_desk(tmp_path, registers=False) as desk:
            with pytest.raises(ConfigError, match="does not know us") as refused:
                await desk.sign_in()
            assert "auth.client_id" in refused.value.hint
            assert "mcp.json:3" in refused.value.hint

    run(main())


def test_a_registration_is_used_again_with_the_same_redirect(tmp_path):
    async def main():
        async with at_desk(tmp_path) as desk:
            await desk.sign_in()
            await desk.sign_in()
            assert desk.provider.count("register") == 1
            first, second = (one["redirect_uri"] for one in desk.provider.authorizations)
            assert first == second
            port = urlsplit(first).port
            taken = await asyncio.start_server(lambda *_: None, "127.0.0.1", port)
            async with taken:
                await desk.sign_in()
            assert desk.provider.count("register") == 2
            assert not desk.provider.refusals

    run(main())


def test_what_is_configured_explicitly_needs_no_discovery(tmp_path):
    async def main():
        async with at_desk(tmp_path, metadata_at="none", resource_metadata_at="none", answers_issuer=None) as desk:
            desk.provider.add_client("known")
            base = desk.provider.origin
            config = desk.config(auth_url=f"{base}/authorize", token_url=f"{base}/token", client_id="known")
            await desk.sign_in(config)
            assert await desk.call(desk.authorizer(config)) == 200
            half = desk.config(auth_url=f"{base}/authorize", client_id="known")
            with pytest.raises(ConfigError, match=r"auth\.token_url is missing"):
                await desk.sign_in(half)

    run(main())


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"says_issuer": "https://evil.example"}, "says that it is another"),
        ({"pkce": ("plain",)}, "PKCE"),
        ({"pkce": None}, "PKCE"),
        ({"answers_issuer": "https://evil.example"}, "another authorization server"),
        ({"denies": True}, "access_denied: the person said no"),
        ({"metadata_at": "none"}, "does not describe itself"),
    ],
    ids=str,
)
def test_what_does_not_fit_together_is_refused(tmp_path, knobs, message):
    async def main():
        async with at_desk(tmp_path, **knobs) as desk:
            with pytest.raises(UpstreamError, match=message):
                await desk.sign_in()
            assert await desk.kept() is None
            assert desk.provider.count("token") == 0

    run(main())


def test_an_answer_must_say_who_gave_it_if_that_was_promised(tmp_path):
    async def main():
        async with at_desk(tmp_path) as desk:

            async def paste() -> str:
                url = urlsplit(await desk.person.landed)
                kept = [f"{k}={v}" for k, v in parse_qsl(url.query) if k != "iss"]
                return f"{url.scheme}://{url.netloc}{url.path}?{'&'.join(kept)}"

            with pytest.raises(UpstreamLogin, match="does not say who gave it"):
                await desk.sign_in(is_here=False, read_redirect=paste)

    run(main())


def test_a_server_that_describes_itself_as_another_is_refused(tmp_path):
    async def main():
        async with at_desk(tmp_path, resource_metadata_at="root", path="/mcp") as desk:
            with pytest.raises(UpstreamError, match="describes itself as another server"):
                await desk.sign_in(a_server(f"{desk.provider.origin}/other"))
            assert desk.provider.count("authorize") == 0

    run(main())


def test_an_answer_with_another_state_changes_nothing(tmp_path):
    async def main():
        async with at_desk(tmp_path) as desk:
            seen = []

            async def stray(line: str) -> None:
                uri = dict(parse_qsl(urlsplit(line).query))["redirect_uri"]
                for query in ("", "?code=evil&state=guessed", "?error=access_denied"):
                    async with (await desk.http.open()).get(uri + query) as page:
                        seen.append(page.status)
                async with (await desk.http.open()).get(uri, headers={"Host": "evil.example"}) as page:
                    seen.append(page.status)
                async with (await desk.http.open()).get(line) as page:
                    seen.append(page.status)

            tasks = []

            def show(line: str) -> None:
                if line.startswith("http"):
                    tasks.append(asyncio.create_task(stray(line)))

            await login(desk.config(), secrets=desk.secrets, http=desk.http, show=show, open_browser=False)
            await asyncio.gather(*tasks)
            assert seen == [400, 400, 400, 400, 200]
            assert await desk.call(desk.authorizer()) == 200

    run(main())


@pytest.mark.parametrize("as_code", [False, True])
def test_the_answer_of_a_browser_elsewhere_is_pasted(tmp_path, as_code):
    async def main():
        async with at_desk(tmp_path) as desk:

            async def paste() -> str:
                url = await desk.person.landed
                return f"  {dict(parse_qsl(urlsplit(url).query))['code'] if as_code else url}\n"

            await desk.sign_in(is_here=False, read_redirect=paste)
            assert await desk.call(desk.authorizer()) == 200

    run(main())


def test_what_is_pasted_and_no_answer_is_asked_for_again_and_not_for_ever(tmp_path):
    async def main():
        async with at_desk(tmp_path) as desk:
            pastes = iter(["http://127.0.0.1/callback?code=x&state=other", "https://example.com/"])

            async def paste() -> str:
                url = await desk.person.landed
                return next(pastes, url)

            person = await desk.sign_in(is_here=False, read_redirect=paste)
            assert person.text.count("not the answer to this login") == 2

            async def nonsense() -> str:
                return "http://127.0.0.1/callback?code=x&state=other"

            with pytest.raises(UpstreamLogin, match="is not the answer"):
                await desk.sign_in(is_here=False, read_redirect=nonsense)

    run(main())


def test_nothing_pasted_leaves_it_to_the_browser(tmp_path):
    async def main():
        async with at_desk(tmp_path) as desk:

            async def nothing() -> str:
                return ""

            await desk.sign_in(read_redirect=nothing)
            assert await desk.call(desk.authorizer()) == 200

    run(main())


def test_a_login_by_device(tmp_path):
    async def main():
        async with at_desk(tmp_path) as desk:
            await desk.sign_in(device=True)
            assert await desk.call(desk.authorizer()) == 200
            desk.provider.revoke_access()
            assert await desk.call(desk.authorizer()) == 200
            desk.provider.denies = True
            with pytest.raises(UpstreamLogin, match="access_denied"):
                await desk.sign_in(device=True)
            desk.provider.has_devices = False
            with pytest.raises(ConfigError, match="no login by device"):
                await desk.sign_in(device=True)

    run(main())


def test_scopes_are_what_is_configured_else_what_the_server_says(tmp_path):
    async def main():
        async with at_desk(tmp_path, server_scopes=("read", "list")) as desk:
            await desk.sign_in()
            await desk.sign_in(desk.config(scopes=("write",)))
            desk.provider.scopes_supported = ("read", "offline_access")
            await desk.sign_in()
            desk.provider.server_scopes = desk.provider.scopes_supported = None
            await desk.sign_in()
            asked = [one.get("scope") for one in desk.provider.authorizations]
            assert asked == ["read list", "write", "read list offline_access", None]

    run(main())


def test_where_the_login_is_kept_is_said(tmp_path):
    async def main():
        async with at_desk(tmp_path) as desk:
            person = await desk.sign_in()
            assert f"plain text in {tmp_path}" in person.told[-1]

    run(main())


def test_what_has_no_login_says_so(tmp_path):
    async def main():
        async with at_desk(tmp_path) as desk:
            with pytest.raises(ConfigError, match="an API key"):
                await desk.sign_in(desk.config(type="api_key", api_key="secret"))
            with pytest.raises(ConfigError, match="unencrypted"):
                await desk.sign_in(a_server("http://crm.example/mcp"))

    run(main())


def test_a_server_that_cannot_be_reached_is_not_asked_to_sign_in(tmp_path):
    async def main():
        async with at_desk(tmp_path) as desk:
            with pytest.raises(UpstreamDown):
                await desk.sign_in(a_server("http://127.0.0.1:9/mcp"))
            assert desk.person.told == []

    run(main())
