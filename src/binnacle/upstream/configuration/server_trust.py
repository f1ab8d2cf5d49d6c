"""Which servers of a project a person has trusted (`config.trust`).

What a project's file or a discipline asks for is neither started nor connected to before a person has seen the entry
exactly as it was written: the command and where it runs, the address and what is sent there, every value of every
variable. The person's own files and the command line need no trust. The entry counts as written, before variables are
filled in, so that a key in the person's environment may be renewed.
"""

import json
from typing import Any

from binnacle.config.trust import TrustItem, is_trusted
from binnacle.upstream.configuration.server_config import ConfigSource, ServerConfig, SourceKind
from binnacle.upstream.configuration.server_target import mask_target, written_values

FOREIGN: tuple[SourceKind, ...] = ("project", "discipline")
"""Sources that somebody other than the person may have written."""


def trust_item(name: str, data: Any, source: ConfigSource) -> TrustItem:
    """A server as a person sees it before trusting it: complete, with its secrets."""
    content = json.dumps(data, indent=2, ensure_ascii=False)
    return TrustItem(kind="server", name=name, place=str(source), does=_does(data), content=content)


def trust_item_of(config: ServerConfig) -> TrustItem:
    """The same for a server that was read."""
    return trust_item(config.name, config.written, config.source)


def is_allowed(config: ServerConfig, repo: str) -> bool:
    """Whether a server may be started or connected to."""
    return config.source.kind not in FOREIGN or is_trusted(repo, trust_item_of(config))


def describe_waiting(config: ServerConfig) -> str:
    """What an untrusted server would do."""
    where = "its discipline" if config.source.kind == "discipline" else str(config.source)
    return f"{where} would {_does(config.written)}"


def _does(data: Any) -> str:
    return f"{'connect to' if written_values(data).get('url') else 'start'} {mask_target(data)}"
