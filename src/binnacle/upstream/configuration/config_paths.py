"""The files in which upstream servers may be configured. None of them need exist."""

import os
from collections.abc import Mapping
from typing import NamedTuple

from binnacle.config.directories import PROJECT_DIR
from binnacle.upstream.configuration.server_config import SourceKind


class ConfigFile(NamedTuple):
    """A file that servers may be configured in."""

    kind: SourceKind
    path: str


def config_files(repo: str, environ: Mapping[str, str] | None = None) -> tuple[ConfigFile, ...]:
    """Every file that is read; the first one with a name counts. New entries go to the first file of their kind."""
    return (
        ConfigFile("project", os.path.join(repo, PROJECT_DIR, "mcp.json")),
        ConfigFile("project", os.path.join(repo, ".beans", "mcp.json")),
        ConfigFile("user", os.path.join(_user_dir(environ), "mcp.json")),
        ConfigFile("user", os.path.join(_home(environ), ".config", "beans-agent", "mcp.json")),
    )


def logins_folder(environ: Mapping[str, str] | None = None) -> str:
    """The person's logins, if no keyring keeps them."""
    return os.path.join(_user_dir(environ), "logins")


def upstream_folder(data_dir: str) -> str:
    """Where a project keeps data of its servers: pins, audit, logs, oversized results."""
    return os.path.join(data_dir, "upstream")


def lists_folder(data_dir: str) -> str:
    """What the project's servers offered when they were last connected."""
    return os.path.join(upstream_folder(data_dir), "lists")


def pins_file(data_dir: str) -> str:
    """How the tools of the project's servers described themselves when they were first seen."""
    return os.path.join(upstream_folder(data_dir), "pins.json")


def log_file(data_dir: str, name: str) -> str:
    """What a server wrote to its standard error."""
    return os.path.join(upstream_folder(data_dir), "logs", f"{name}.log")


def _user_dir(environ: Mapping[str, str] | None) -> str:
    given = (os.environ if environ is None else environ).get("XDG_CONFIG_HOME")
    return os.path.join(given or os.path.join(_home(environ), ".config"), "binnacle")


def _home(environ: Mapping[str, str] | None) -> str:
    return (os.environ if environ is None else environ).get("HOME") or os.path.expanduser("~")
