"""Shows configuration without its secrets, and finds literal secrets in it.

It guesses by names and looks, in the text as written; values of variables are never shown.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from binnacle.upstream.configuration.server_config import HIDDEN_VALUE
from binnacle.upstream.configuration.variable_expansion import has_variable

_SECRET_NAME = re.compile(
    r"token|secret|passw|passphrase|credential|authorization|cookie|api_?key|access_?key|private_?key|(^|_)(key|pat|pwd|auth)$"
)
_TOKEN = re.compile(
    r"(?:sk|pk|rk|ghp|gho|ghs|ghu|github_pat|glpat|xox[a-z]|npm|hf|AKIA|AIza|eyJ|ntn|lin_api)[-_A-Za-z0-9.]{12,}"
)
_RANDOM = re.compile(r"(?=[^0-9]*[0-9])(?=[^A-Za-z]*[A-Za-z])[A-Za-z0-9_+=-]{24,}")
_ONLY_VARIABLES = re.compile(r"(?:Bearer )?(?:\$\{(?:(?:env:)?\w+|input:[\w.-]+)\}:?)+")
_SETTING = re.compile(r"(-{0,2}[A-Za-z][\w.-]*(?:=|: ?))(.*)", re.DOTALL)
"""`NAME=value`, `--name=value` or `Name: value`."""


def is_secret_name(name: str) -> bool:
    """Whether the value of this name is usually a secret: `GITHUB_TOKEN`, `X-Api-Key`, `--password`."""
    plain = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.lstrip("-")).replace("-", "_").lower()
    return bool(_SECRET_NAME.search(plain))


def looks_secret(text: str) -> bool:
    """Whether a word looks like a token or a key."""
    return bool(_TOKEN.fullmatch(text) or _RANDOM.fullmatch(text))


def mask_words(words: Sequence[str]) -> list[str]:
    """A command's words as people may see them."""
    shown: list[str] = []
    before = ""
    for word in words:
        is_value = before.startswith("-") and "=" not in before and is_secret_name(before)
        shown.append(_hidden(word) if is_value and not word.startswith("-") else _shown_word(word))
        before = word
    return shown


def mask_url(url: str) -> str:
    """A URL without user, password, values of its query, fragment, and parts of its path that look like keys."""
    head, has_query, query = url.partition("#")[0].partition("?")
    scheme, has_scheme, rest = head.partition("://")
    place, *path = rest.split("/")
    user, has_user, host = place.rpartition("@")
    user = f"{_hidden(user)}@" if has_user else ""
    path = [HIDDEN_VALUE if looks_secret(part) else part for part in path]
    if has_query:
        query = "?" + "&".join(_shown_parameter(one) for one in query.split("&"))
    return f"{scheme}{has_scheme}{'/'.join((user + host, *path))}{query}"


def find_literal_secrets(entry: Mapping[str, Any]) -> Iterator[str]:
    """The keys of an entry, such as `env.GITHUB_TOKEN`, whose values are secrets and no variables."""
    for section in ("env", "headers", "auth"):
        values = entry.get(section)
        for key, value in values.items() if isinstance(values, Mapping) else ():
            if isinstance(value, str) and _is_literal(key, value):
                yield f"{section}.{key}"
    words = [word for word in (entry.get("command"), *(entry.get("args") or ())) if isinstance(word, str)]
    if mask_words(words) != words:
        yield "args"
    url = entry.get("url")
    if isinstance(url, str) and not has_variable(url) and mask_url(url) != url:
        yield "url"


def _is_literal(key: str, value: str) -> bool:
    if not value or has_variable(value) or key.lower().endswith(("url", "path", "file", "_id")):
        return bool(urlsplit(value).password) if "://" in value and not has_variable(value) else False
    return is_secret_name(key) or looks_secret(value)


def _shown_word(word: str) -> str:
    if re.match(r"\w+://", word):
        return mask_url(word)
    if setting := _SETTING.fullmatch(word):
        name, value = setting[1], setting[2]
        return name + (_hidden(value) if is_secret_name(name.rstrip("=: ")) else _shown_word(value))
    return HIDDEN_VALUE if looks_secret(word) else word


def _shown_parameter(parameter: str) -> str:
    name, has_value, value = parameter.partition("=")
    return f"{name}={_hidden(value)}" if has_value else _hidden(parameter)


def _hidden(text: str) -> str:
    """A mask, except for variables: they only name a secret."""
    return text if not text or _ONLY_VARIABLES.fullmatch(text) else HIDDEN_VALUE
