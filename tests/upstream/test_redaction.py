"""Secrets that we know are in no text that we show, however they are written there."""

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binnacle.upstream.configuration.server_config import AuthConfig, ConfigSource, ServerConfig
from binnacle.upstream.redaction import MIN_SECRET_CHARACTERS, Redactor


def a_redactor(**secrets: str) -> Redactor:
    redactor = Redactor()
    for name, value in secrets.items():
        redactor.add(name, value)
    return redactor


def test_a_secret_is_replaced_by_its_name():
    redactor = a_redactor(token="planted/secret")
    assert redactor.clean("401 for planted/secret, planted/secret!") == "401 for ‹token›, ‹token›!"
    assert redactor.clean("nothing") == "nothing"
    assert Redactor().clean("planted/secret") == "planted/secret"


@pytest.mark.parametrize(
    "write",
    [
        str,
        lambda one: quote(one, safe=""),
        quote,
        json.dumps,
        lambda one: json.dumps(one, ensure_ascii=False),
        lambda one: base64.b64encode(one.encode()).decode(),
        lambda one: base64.urlsafe_b64encode(one.encode()).decode(),
    ],
)
def test_a_secret_is_found_however_it_is_written(write):
    secret = 'pl"anted/sec ret?ü>>>'
    cleaned = a_redactor(token=secret).clean(f"error: {write(secret)}.")
    assert "‹token›" in cleaned
    assert "anted" not in cleaned


def test_the_scheme_is_no_part_of_the_secret():
    assert a_redactor(key="Bearer planted-secret").clean("planted-secret") == "‹key›"


def test_a_secret_that_begins_like_another_is_replaced_whole():
    redactor = a_redactor(one="planted", two="planted-secret")
    assert redactor.clean("planted-secret planted") == "‹two› ‹one›"


def test_what_is_too_short_to_be_told_from_words_stays():
    assert a_redactor(key="abc").clean("abcdef") == "abcdef"


def test_what_is_secret_in_a_configuration_is_known():
    config = ServerConfig(
        name="crm",
        transport="http",
        url="https://me:planted-1@host/sk-planted2planted2planted2/?api_key=planted-3&page=ordinary",
        headers={"X-Custom": "planted-4", "Accept": "application/json"},
        env={"GITHUB_TOKEN": "planted-5", "DATABASE_URL": "postgres://u:planted-6@db/x", "MODE": "ordinary"},
        args=("--token", "planted-7", "--password=planted-8", "--mode", "ordinary"),
        auth=AuthConfig(type="api_key", api_key="Basic planted-9", client_secret="planted-10"),
        source=ConfigSource("user"),
    )
    redactor = Redactor()
    redactor.learn(config)
    planted = ["planted-1", "sk-planted2planted2planted2", *(f"planted-{number}" for number in range(3, 11))]
    for secret in planted:
        assert "planted" not in redactor.clean(f"x {secret} y"), secret
    assert redactor.clean("ordinary application/json host me") == "ordinary application/json host me"


@given(secret=st.text(min_size=MIN_SECRET_CHARACTERS), before=st.text(), after=st.text())
def test_no_known_secret_survives(secret, before, after):
    redactor = Redactor()
    redactor.add("s", secret)
    known = secret.partition(" ")[2].strip() if secret.partition(" ")[0].isalpha() and " " in secret else secret
    if len(known) >= MIN_SECRET_CHARACTERS and known not in "‹s›":
        assert known not in redactor.clean(before + known + after).replace("‹s›", "\ufffe")
