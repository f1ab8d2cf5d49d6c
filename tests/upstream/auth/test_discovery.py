"""Where logins are looked for, and where they are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binnacle.errors import UpstreamError
from binnacle.upstream.auth.challenge import AuthChallenge, parse_challenge
from binnacle.upstream.auth.provider_discovery import (
    covers,
    is_same_issuer,
    provider_metadata_urls,
    resource_metadata_urls,
)
from binnacle.upstream.auth.url_checks import check_place, is_local, origin, resource_of


def test_a_server_describes_itself_for_its_path_or_for_its_host():
    root = "https://crm.example/.well-known/oauth-protected-resource"
    assert resource_metadata_urls("https://crm.example/a/mcp?x=1") == (f"{root}/a/mcp", root)
    assert resource_metadata_urls("https://crm.example/") == (root,)
    assert resource_metadata_urls("wss://crm.example/mcp")[0] == f"{root}/mcp"


def test_an_issuer_with_a_path_is_looked_for_in_three_places():
    assert provider_metadata_urls("https://login.example/tenant/") == (
        "https://login.example/.well-known/oauth-authorization-server/tenant",
        "https://login.example/.well-known/openid-configuration/tenant",
        "https://login.example/tenant/.well-known/openid-configuration",
    )
    assert provider_metadata_urls("https://login.example") == (
        "https://login.example/.well-known/oauth-authorization-server",
        "https://login.example/.well-known/openid-configuration",
    )


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://a.example", "https://a.example/", True),
        ("https://a.example/x", "https://a.example/x/", False),
        ("https://a.example", "https://A.example", False),
        ("https://a.example", "https://a.example.evil", False),
    ],
)
def test_issuers_are_compared_to_the_letter(one, other, same):
    assert is_same_issuer(one, other) is same
    assert is_same_issuer(other, one) is same


@pytest.mark.parametrize(
    ("resource", "url", "does"),
    [
        ("https://a.example", "https://a.example/mcp", True),
        ("https://a.example/mcp", "https://a.example/mcp", True),
        ("https://a.example/mcp/", "https://a.example/mcp", True),
        ("https://A.example:443/mcp", "https://a.example/mcp/x", True),
        ("https://a.example/mcp", "https://a.example/mcp-other", False),
        ("https://a.example/mcp", "https://a.example/", False),
        ("https://b.example/mcp", "https://a.example/mcp", False),
        ("http://a.example/mcp", "https://a.example/mcp", False),
        ("https://a.example:bad/", "https://a.example/mcp", False),
        ("", "https://a.example/mcp", False),
    ],
)
def test_tokens_for_a_place_are_for_what_is_below_it(resource, url, does):
    assert covers(resource, url) is does


def test_one_spelling_of_a_server():
    assert resource_of("HTTPS://Me:pw@CRM.example:443/Mcp?q=1#top") == "https://crm.example/Mcp?q=1"
    assert resource_of("wss://crm.example/") == "https://crm.example"
    assert origin("http://[::1]:80/x") == "http://[::1]"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9", "[::1]"])
def test_this_machine_is_known(host):
    assert is_local(f"http://{host}:8080/")


@pytest.mark.parametrize("host", ["127.evil.example", "localhost.evil", "10.0.0.1", "0.0.0.0", "128.0.0.1", "[::2]"])
def test_other_machines_are_not_this_one(host):
    assert not is_local(f"http://{host}:8080/")


@pytest.mark.parametrize(
    "url",
    [
        "http://login.example/token",
        "http://127.0.0.1:22/token",
        "https://localhost/token",
        "ftp://login.example/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "https://me@login.example/",
        "https://login.example/#x",
        "https://login.example/\x1b[2J",
        "https://login.example/\r\nX: y",
        "https://lоgin.example/",
        "https://[broken/",
        "https://login.example:99999/",
        "",
    ],
)
def test_places_that_somebody_elsewhere_names_and_are_not_asked(url):
    with pytest.raises(UpstreamError):
        check_place(url, "token endpoint", near="https://crm.example/mcp")


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("", AuthChallenge()),
        ("Bearer", AuthChallenge()),
        ('Bearer realm="x", error=invalid_token', AuthChallenge(error="invalid_token")),
        (
            'bearer error="insufficient_scope" , scope="a b",error_description="say \\"please\\", now"',
            AuthChallenge("insufficient_scope", 'say "please", now', ("a", "b")),
        ),
        (
            'Basic realm="b, scope=\\"no\\"", Bearer resource_metadata="https://x/y?a=1,2", scope=one',
            AuthChallenge(scopes=("one",), resource_metadata="https://x/y?a=1,2"),
        ),
        ('DPoP algs="ES256", error="other", Bearer error="mine"', AuthChallenge(error="mine")),
        ('Basic error="not for us"', AuthChallenge()),
    ],
)
def test_challenges_are_read(header, found):
    assert parse_challenge(header) == found


@given(st.text())
def test_any_challenge_can_be_read(header):
    assert isinstance(parse_challenge(header), AuthChallenge)
    assert isinstance(parse_challenge(f"Bearer {header}"), AuthChallenge)
