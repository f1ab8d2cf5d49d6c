"""Secrets are planted everywhere in a configuration, and must come out nowhere that people or logs see."""

import json

import pytest

from binnacle.upstream.configuration.secret_masking import (
    find_literal_secrets,
    is_secret_name,
    looks_secret,
    mask_url,
    mask_words,
)
from binnacle.upstream.configuration.server_loader import load_servers
from binnacle.upstream.configuration.server_overview import read_overview, row

PLANTED = "hunter2planted"


def sections(secret: str) -> dict[str, dict]:
    """Well configured servers with a secret wherever one may be."""
    return {
        "local": {"command": "x", "args": ["--api-key", secret, f"--token={secret}"], "env": {"TOKEN": secret}},
        "database": {"command": "x", "args": [f"postgresql://ann:{secret}@h/db"]},
        "remote": {"url": f"https://u:{secret}@h/mcp?key={secret}", "headers": {"Authorization": f"Bearer {secret}"}},
        "key": {"url": f"https://h?key={secret}", "auth": {"apiKey": secret}},
        "bridge": {"command": "npx", "args": ["mcp-remote", "--header", f"Authorization: Bearer {secret}"]},
        "oauth": {"url": "https://h/", "auth": {"clientId": "me", "clientSecret": secret}},
    }


def mistakes(secret: str) -> dict[str, dict]:
    """The same with something wrong about each."""
    wrong = {f"{name}-{key}": one | {key: secret} for name, one in sections(secret).items() for key in ("timeout", "x")}
    return wrong | {
        "url": {"url": secret},
        "scheme": {"url": f"{secret}://h"},
        "port": {"url": f"http://h:{secret}/"},
        "space": {"url": f"http://h/ {secret}"},
        "line": {"url": "http://h", "headers": {"A": f"{secret}\n"}},
        "key": {"url": "http://h", "auth": {"apiKey": f"{secret}\n"}},
        "args": {"command": "x", "args": secret},
        "nul": {"command": "x", "args": [f"{secret}\0"]},
        "env": {"command": "x", "env": secret},
        "open": {"command": "x", "env": {"A": "${" + secret}},
        "form": {"command": "x", "env": {"A": "${" + secret + " !}"}},
        "auth": {"url": "http://h", "auth": secret},
        "list": {"command": "x", "args": [[secret]]},
        "name": {"command": "x", "env": {f"TOKEN={secret}": ""}},
        "header": {"url": "http://h", "headers": {f"Authorization: {secret}": ""}},
        "query": {"url": f"http://h?{secret}", "x": 1},
        "all": secret,
    }


@pytest.mark.parametrize("servers", [sections, mistakes])
@pytest.mark.parametrize("is_variable", [False, True])
def test_no_secret_is_in_problems_reprs_or_lists(tmp_path, monkeypatch, servers, is_variable):
    monkeypatch.setenv("PLANTED", PLANTED)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / ".binnacle").mkdir()
    secret = "${PLANTED}" if is_variable else PLANTED
    (tmp_path / ".binnacle/mcp.json").write_text(json.dumps({"servers": servers(secret)}))
    loaded = load_servers(str(tmp_path))
    rows = [row(server, str(tmp_path)) for server in read_overview(str(tmp_path)).servers.values()]
    assert len(rows) == len(servers(""))
    assert servers is mistakes or loaded.problems == ()
    assert PLANTED not in repr(loaded)
    assert PLANTED not in str(loaded.problems)
    # Nobody can tell that a bare word among arguments, or in a path, is a secret; a variable always is one.
    assert PLANTED not in repr([one for one in rows if is_variable or one.name not in ("nul", "space")])


def test_a_flag_with_a_secret_is_not_repeated(tmp_path):
    flags = [PLANTED, f"a={PLANTED}://x y '", f"b=x '{PLANTED}", f"c=ftp://{PLANTED}"]
    loaded = load_servers(str(tmp_path), flags=flags, environ={"HOME": str(tmp_path)})
    assert len(loaded.problems) == 4
    assert PLANTED not in repr(loaded)


@pytest.mark.parametrize(
    "name", ["GITHUB_TOKEN", "X-API-Key", "--password", "clientSecret", "Authorization", "KEY", "AWS_SECRET_ACCESS_KEY"]
)
def test_names_of_secrets_are_known(name):
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["PATH", "keyboard", "--monkey", "LOG_LEVEL", "author", "X-Team"])
def test_other_names_are_not(name):
    assert not is_secret_name(name)


def test_what_looks_like_a_token_is_one():
    assert looks_secret("ghp_abcdefghij0123456789")
    assert looks_secret("A7f3" * 8)
    assert not looks_secret("@modelcontextprotocol/server-postgres")
    assert not looks_secret("a-rather-long-name-of-a-package-or-so")


def test_commands_and_urls_stay_readable():
    words = [
        "npx",
        "Authorization: Bearer ${TOKEN}",
        "--url=https://h/x",
        "host:80",
        "-y",
        "@scope/server",
        "--root",
        "/srv",
        "--token",
        "${TOKEN}",
        "--key=${env:KEY}",
        "https://h/mcp",
    ]
    assert mask_words(words) == words
    assert mask_words(["x", "--token", "abc", "PASSWORD=abc"]) == ["x", "--token", "‹hidden›", "PASSWORD=‹hidden›"]
    assert mask_url("https://ann:pw@h:8/a/b?x=1&y#z") == "https://‹hidden›@h:8/a/b?x=‹hidden›&‹hidden›"
    assert mask_url("https://h/s/" + "A7f3" * 8 + "/mcp") == "https://h/s/‹hidden›/mcp"


def test_literal_secrets_are_found_by_key():
    entry = {
        "env": {"API_KEY": "abc", "OTHER_KEY": "${OTHER_KEY}", "MODE": "fast", "DB_URL": "postgres://a:b@h/"},
        "headers": {"Authorization": "Bearer abc"},
        "args": ["--token", "abc"],
        "url": "https://h/?key=abc",
        "auth": {"type": "oauth", "client_id": "me", "token_url": "https://h/", "client_secret": "abc"},
    }
    assert list(find_literal_secrets(entry)) == [
        "env.API_KEY",
        "env.DB_URL",
        "headers.Authorization",
        "auth.client_secret",
        "args",
        "url",
    ]
