"""What a configured server would start or connect to, for people and agents to read."""

import re
import shlex
from collections.abc import Mapping
from typing import Any

from binnacle.upstream.configuration.secret_masking import mask_url, mask_words
from binnacle.upstream.configuration.server_config import HIDDEN_VALUE
from binnacle.upstream.configuration.server_entry import ALIASES, snake_case

_URL = re.compile(r"(?:https?|wss?)://[^/?#:@\s]*(?::\d+)?(?:[/?#]|$)|(?:https?|wss?)://[^/?#\s]+@|\$\{")
"""Shown for text that is no URL: it may be a secret in the wrong place."""


def mask_target(data: Any) -> str:
    """What a server is, without secrets: its command, or its address."""
    written = written_values(data)
    url = written.get("url")
    if isinstance(url, str) and url:
        return mask_url(url) if _URL.match(url) else HIDDEN_VALUE
    return " ".join(shlex.quote(word) if " " in word else word for word in mask_words(_words(written)))


def _words(written: Mapping[str, Any]) -> list[str]:
    args = written.get("args")
    words = (written.get("command") or "", *(args if isinstance(args, list | tuple) else ()))
    return [str(word) if isinstance(word, str | int | float) else "…" for word in words]


def written_values(data: Any) -> dict[str, Any]:
    """The values at the top of an entry by our keys, as they were written."""
    if not isinstance(data, Mapping):
        return {}
    return {ALIASES.get(key, (key,))[-1]: value for key, value in ((snake_case(one), data[one]) for one in data)}
