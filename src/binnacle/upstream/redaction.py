"""Removes known secrets from text that somebody may read: errors, logs, events.

`configuration.secret_masking` guesses by names and looks; this knows the values, wherever they appear.
"""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from binnacle.upstream.configuration.secret_masking import is_secret_name, looks_secret
from binnacle.upstream.configuration.server_config import ServerConfig

MIN_SECRET_CHARACTERS = 6
"""Least characters of a secret that is searched for. A shorter one would match ordinary text."""

_HARMLESS = frozenset({"accept", "accept-language", "cache-control", "content-type", "origin", "referer", "user-agent"})
"""Headers without secrets; any other may have one."""


class Redactor:
    """Knows secrets by name, and replaces each in a text by `‹name›`."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        """Every encoding of a secret, to the name of the secret."""

        self._pattern: re.Pattern[str] | None = None

    def __repr__(self) -> str:
        return f"Redactor({len(self._names)} known)"

    def add(self, name: str, value: str) -> None:
        """Replaces `value` by `‹name›` from now on, also if it is quoted for a URL, for JSON or as base64."""
        scheme, has_scheme, rest = value.partition(" ")
        if has_scheme and scheme.isalpha():
            value = rest.strip()
        if len(value) < MIN_SECRET_CHARACTERS or value in self._names:
            return
        for written in _writings(value):
            self._names.setdefault(written, name)
        self._pattern = None

    def learn(self, config: ServerConfig) -> None:
        """Adds the secrets of a server's configuration, in which variables are filled in."""
        for name, value in _secrets_of(config):
            self.add(name, value)

    def clean(self, text: str) -> str:
        """The text without known secrets."""
        if not self._names:
            return text
        if self._pattern is None:
            # The longest first: one secret may be the beginning of another.
            written = sorted(self._names, key=len, reverse=True)
            self._pattern = re.compile("|".join(map(re.escape, written)))
        return self._pattern.sub(lambda found: f"‹{self._names[found[0]]}›", text)


def _writings(value: str) -> Iterator[str]:
    yield value
    yield quote(value, safe="")
    yield quote(value)
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    encoded = value.encode(errors="surrogateescape")
    yield base64.b64encode(encoded).decode().rstrip("=")
    yield base64.urlsafe_b64encode(encoded).decode().rstrip("=")


def _secrets_of(config: ServerConfig) -> Iterator[tuple[str, str]]:
    yield "auth.api_key", config.auth.api_key
    yield "auth.client_secret", config.auth.client_secret
    for name, value in config.headers.items():
        if name.lower() not in _HARMLESS:
            yield f"headers.{name}", value
    yield from _name_secrets("env", config.env)
    yield from _secret_words(config.args)
    yield from _secrets_of_url(config.url)


def _name_secrets(section: str, values: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        if is_secret_name(name) or looks_secret(value):
            yield f"{section}.{name}", value
        elif "://" in value:
            yield from ((f"{section}.{name}", secret) for _, secret in _secrets_of_url(value))


def _secret_words(words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    before = ""
    for word in words:
        name, has_value, value = word.partition("=")
        if has_value and is_secret_name(name):
            yield f"args.{name.lstrip('-')}", value
        elif before.startswith("-") and is_secret_name(before) and not word.startswith("-"):
            yield f"args.{before.lstrip('-')}", word
        elif looks_secret(word):
            yield "args", word
        elif "://" in word:
            yield from (("args", secret) for _, secret in _secrets_of_url(word))
        before = word


def _secrets_of_url(url: str) -> Iterator[tuple[str, str]]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    yield "url.password", unquote(parts.password or "")
    if parts.username and not parts.password:
        yield "url.user", unquote(parts.username)
    for name, value in parse_qsl(parts.query):
        if is_secret_name(name) or looks_secret(value):
            yield f"url.{name}", value
    for part in parts.path.split("/"):
        if looks_secret(part):
            yield "url", part
