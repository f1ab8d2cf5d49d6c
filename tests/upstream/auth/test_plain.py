"""Keys and token files: sent as they are meant, never in the open, and read again when they change."""

import os

import pytest

from binnacle.errors import ConfigError, UpstreamLogin
from binnacle.upstream.auth import static_credentials
from binnacle.upstream.auth.authorizer import Authorizer
from binnacle.upstream.auth.authorizer_factory import make_authorizer
from binnacle.upstream.auth.secret_store import FileSecrets
from binnacle.upstream.configuration.server_config import AuthConfig, ConfigSource, ServerConfig
from binnacle.upstream.redaction import Redactor
from binnacle.upstream.transports.http_client import new_session
from upstream.auth.person import a_server, run

URL = "https://crm.example/mcp"


async def made(config: ServerConfig, redactor: Redactor | None = None) -> Authorizer:
    async with new_session() as http:
        return make_authorizer(config, secrets=FileSecrets("nowhere"), http=http, redactor=redactor)


def headers(config: ServerConfig) -> dict[str, str]:
    async def main():
        return await (await made(config)).headers()

    return run(main())


@pytest.mark.parametrize(
    ("auth", "sent"),
    [
        ({"api_key": "abc"}, {"Authorization": "Bearer abc"}),
        ({"api_key": " abc\n"}, {"Authorization": "Bearer abc"}),
        ({"api_key": "Token abc"}, {"Authorization": "Token abc"}),
        ({"api_key": "abc", "header_name": "authorization"}, {"authorization": "Bearer abc"}),
        ({"api_key": "abc", "header_name": "X-Api-Key"}, {"X-Api-Key": "abc"}),
    ],
)
def test_a_key_stands_in_its_header(auth, sent):
    assert headers(a_server(URL, type="api_key", **auth)) == sent


@pytest.mark.parametrize("key", ["a\nX-Evil: 1", "a\x00b", "", "ключ"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(key):
    with pytest.raises(ConfigError, match=r"auth\.api_key of crm") as refused:
        headers(a_server(URL, type="api_key", api_key=key))
    assert not key or key not in str(refused.value.to_dict())


@pytest.mark.parametrize(
    "auth", [{"type": "api_key", "api_key": "abc"}, {"type": "oauth"}, {"type": "token_file", "token_path": "/x"}]
)
@pytest.mark.parametrize(
    "url", ["http://crm.example/mcp", "ws://10.0.0.1/mcp", "http://127.evil.example/", "http://localhost.evil.example"]
)
def test_nothing_secret_is_sent_in_the_open(auth, url):
    with pytest.raises(ConfigError, match="unencrypted"):
        headers(a_server(url, **auth))


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:1/mcp", "http://localhost/mcp", "http://[::1]:8/", "wss://crm.example/"]
)
def test_this_machine_and_encrypted_ways_may_know_secrets(url):
    assert headers(a_server(url, type="api_key", api_key="abc")) == {"Authorization": "Bearer abc"}


def test_a_refused_key_says_where_it_is_configured():
    async def main():
        key = await made(a_server(URL, type="api_key", api_key="abcdefgh"))
        assert not await key.handle_challenge(403, "")
        with pytest.raises(UpstreamLogin, match="does not accept its API key") as refused:
            await key.handle_challenge(401, "Bearer")
        assert refused.value.hint == "renew auth.api_key in mcp.json:3"

    run(main())


def test_a_configured_authorization_header_is_left_alone():
    async def main():
        config = ServerConfig(
            name="crm", transport="http", url=URL, headers={"authorization": "Bearer x"}, source=ConfigSource("user")
        )
        given = await made(config)
        assert await given.headers() == {}
        with pytest.raises(UpstreamLogin, match="Authorization header"):
            await given.handle_challenge(401, "Bearer")

    run(main())


@pytest.fixture
def token_file(tmp_path):
    path = tmp_path / "token"
    path.write_text("first-token\n")
    path.chmod(0o600)
    return path


def by_file(path) -> ServerConfig:
    return a_server(URL, type="token_file", token_path=str(path))


def test_a_token_file_is_read_again_when_it_changes(token_file):
    async def main():
        redactor = Redactor()
        token = await made(by_file(token_file), redactor)
        assert await token.headers() == {"Authorization": "Bearer first-token"}
        token_file.write_text("second-token")
        assert await token.headers() == {"Authorization": "Bearer second-token"}
        other = token_file.with_name("other")
        other.write_text("third-token!")
        other.chmod(0o600)
        os.replace(other, token_file)
        assert await token.headers() == {"Authorization": "Bearer third-token!"}
        assert redactor.clean("a first-token and a third-token!") == "a ‹auth.token_path› and a ‹auth.token_path›"

    run(main())


def test_a_refused_token_is_looked_up_once_more(token_file):
    async def main():
        token = await made(by_file(token_file))
        await token.headers()
        state = os.stat(token_file)
        token_file.write_text("other-token\n")
        os.utime(token_file, ns=(state.st_atime_ns, state.st_mtime_ns))  # looks as if nothing had changed
        assert await token.handle_challenge(401, "Bearer")
        assert await token.headers() == {"Authorization": "Bearer other-token"}
        with pytest.raises(UpstreamLogin, match="does not accept the token in") as refused:
            await token.handle_challenge(401, "Bearer")
        assert str(token_file) in refused.value.hint

    run(main())


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o666])
def test_a_token_file_that_others_may_read_is_refused(token_file, mode):
    token_file.chmod(mode)
    with pytest.raises(ConfigError, match=rf"open to other users \(mode {mode:04o}\)") as refused:
        headers(by_file(token_file))
    assert refused.value.hint == f"chmod 600 {token_file}"


def test_where_secrets_are_mounted_modes_are_not_ours(token_file, monkeypatch):
    token_file.chmod(0o644)
    monkeypatch.setattr(static_credentials, "SECRET_MOUNTS", (f"{os.path.realpath(token_file.parent)}/",))
    assert headers(by_file(token_file)) == {"Authorization": "Bearer first-token"}


def test_the_home_directory_is_known(token_file, monkeypatch):
    monkeypatch.setenv("HOME", str(token_file.parent))
    assert headers(by_file("~/token")) == {"Authorization": "Bearer first-token"}


def test_a_relative_path_is_refused():
    with pytest.raises(ConfigError, match="not named from the root"):
        headers(by_file("secrets/token"))


@pytest.mark.parametrize(
    ("content", "what"),
    [(b"", "is empty"), (b" \n", "is empty"), (b"\xff\xfe", "is not text"), (b"a" * 70_000, "is too long")],
    ids=["empty", "blank", "binary", "long"],
)
def test_a_file_that_holds_no_token_is_refused(token_file, content, what):
    token_file.write_bytes(content)
    with pytest.raises(ConfigError, match=what):
        headers(by_file(token_file))


def test_a_private_key_is_no_token(token_file):
    token_file.write_text("-----BEGIN KEY-----\nc2VjcmV0\n-----END KEY-----\n")
    with pytest.raises(ConfigError, match="no header can carry") as refused:
        headers(by_file(token_file))
    assert "c2VjcmV0" not in str(refused.value.to_dict())


def test_what_is_no_file_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "pipe", 0o600)
    for path, what in ((tmp_path / "pipe", "is not a file"), (tmp_path, "is not a file"), (tmp_path / "no", "No such")):
        with pytest.raises(ConfigError, match=what):
            headers(by_file(path))


def test_a_file_that_comes_later_is_found(tmp_path):
    async def main():
        token = await made(by_file(tmp_path / "later"))
        with pytest.raises(ConfigError):
            await token.headers()
        (tmp_path / "later").touch(mode=0o600)
        (tmp_path / "later").write_text("there")
        assert await token.headers() == {"Authorization": "Bearer there"}

    run(main())


def test_no_secret_is_in_a_repr():
    auth = AuthConfig(type="api_key", api_key="planted-secret", client_secret="planted-secret")
    config = ServerConfig(
        name="x",
        transport="http",
        url="https://u:planted-secret@h/?k=planted-secret",
        auth=auth,
        headers={"X": "planted-secret"},
        source=ConfigSource("user"),
    )
    redactor = Redactor()
    redactor.learn(config)
    for value in (auth, config, redactor):
        assert "planted-secret" not in repr(value)
