"""Which local commands of a project a person has approved, and which servers may be sent what is secret.

A repository that is cloned must not start programs by being opened, and not send the person's keys anywhere. So a
command that a project's file or a discipline asks for runs only after a person has seen exactly it, and a remote server
that is sent something out of the environment or a file is connected to only then. What stands in the person's own
files or on the command line needs nothing more. Kept by project and server in `approvals.json` among the person's own
configuration, never in the project: a digest of what would happen, and beside it what was shown, variables not filled
in, to tell what changed.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple

from binnacle.config import approvals
from binnacle.config.approvals import Approval
from binnacle.errors import ConfigError, Refused
from binnacle.upstream import steps
from binnacle.upstream.config import ServerConfig
from binnacle.upstream.places import approvals_file

_CODE_LOADING = re.compile(
    r"PATH|LD_.*|DYLD_.*|NODE_OPTIONS|NODE_PATH|PYTHON.*|PERL5(LIB|OPT)|RUBY(LIB|OPT)|BASH_ENV|ENV|SHELLOPTS"
    r"|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|GIT_SSH.*|(npm_config|NPM_CONFIG|UV|PIP)_.*"
)
"""Variables that decide which code a program runs. Their values are approved, not only their names."""


class Seen(NamedTuple):
    """A server as a person sees it before approving: as it was written, variables not filled in."""

    words: tuple[str, ...]
    cwd: str
    env: tuple[str, ...]
    """Names only: of the environment a command gets, or of the variables that a remote server is sent."""

    url: str = ""
    headers: tuple[str, ...] = ()
    """Names only."""

    file: str = ""
    """What a remote server is sent the content of."""


def needs_approval(config: ServerConfig) -> bool:
    """Whether somebody else than the person decides what would be started, or where something secret is sent."""
    if config.source.kind not in ("project", "discipline"):
        return False
    return config.transport == "stdio" or bool(config.variables) or config.auth.type == "token_file"


def why_asked(config: ServerConfig) -> str:
    """What a server that waits for approval would do."""
    where = "its discipline" if config.source.kind == "discipline" else str(config.source)
    if config.transport == "stdio":
        return f"{where} would start {config.command}"
    sent = [f"{', '.join(config.variables)} of your environment"] if config.variables else []
    sent += [f"the file {config.auth.token_path}"] if config.auth.type == "token_file" else []
    return f"{where} would send it {' and '.join(sent)}"


def is_approved(config: ServerConfig, repo: str, *, environ: Mapping[str, str] | None = None) -> bool:
    """Whether a server may be started. A file of approvals that cannot be read approves of nothing."""
    if not needs_approval(config):
        return True
    with suppress(ConfigError):
        found = find_approval(config.name, repo, environ=environ)
        return found is not None and found.sha256 == digest(config)
    return False


def find_approval(name: str, repo: str, *, environ: Mapping[str, str] | None = None) -> Approval | None:
    """What was approved under a name, whether it still holds or not.

    Raises:
        ConfigError: the approvals cannot be read.
    """
    return approvals.find(approvals_file(environ), repo, name)


def approve(
    config: ServerConfig, repo: str, seen: Seen, *, by: str, is_agent: bool, environ: Mapping[str, str] | None = None
) -> None:
    """Lets the project in `repo` start a server's command, or connect to it, from now on.

    Raises:
        Refused: an agent asked for it.
        ConfigError: the approvals cannot be read or written.
    """
    if is_agent:
        raise Refused(
            f"only a person can approve {config.name!r}",
            hint=steps.approve(config.name),
        )
    now = datetime.now(UTC).isoformat(timespec="seconds")
    approval = Approval(
        sha256=digest(config),
        command=seen.words,
        cwd=seen.cwd,
        env=seen.env,
        url=seen.url,
        headers=seen.headers,
        file=seen.file,
        by=by,
        at=now,
    )
    approvals.keep(approvals_file(environ), repo, config.name, approval)


def forget(name: str, repo: str, *, environ: Mapping[str, str] | None = None) -> None:
    """Takes an approval back, if there is one."""
    approvals.forget(approvals_file(environ), repo, name)


def digest(config: ServerConfig) -> str:
    """Stands for exactly this command, or for where exactly these variables and this file are sent."""
    from hashlib import sha256

    canonical = _command(config) if config.transport == "stdio" else _destination(config)
    return sha256(json.dumps(canonical, separators=(",", ":")).encode()).hexdigest()


def _command(config: ServerConfig) -> list[Any]:
    loading = {name: value for name, value in config.env.items() if _CODE_LOADING.fullmatch(name)}
    return [config.command, config.args, config.cwd, sorted(config.env), sorted(loading.items())]


def _destination(config: ServerConfig) -> list[Any]:
    """Without what variables stand for, so that a key may be renewed."""
    auth = config.auth
    where = [config.transport, config.written_url or config.url, auth.auth_url, auth.token_url]
    return [*where, auth.type, auth.header_name, auth.token_path, sorted(config.headers), sorted(config.variables)]


def differences(approval: Approval, seen: Seen) -> list[str]:
    """What changed since a server was approved, a line each."""
    changes = [*_word_changes(approval.command, seen.words)]
    for what, old, new in (("url", approval.url, seen.url), ("file", approval.file, seen.file)):
        changes += [f"{what}: was {old or 'none'}, now {new or 'none'}"] if old != new else []
    if approval.cwd != seen.cwd:
        changes.append(f"directory: was {approval.cwd or 'the project'}, now {seen.cwd or 'the project'}")
    for what, before, now in (("variable", approval.env, seen.env), ("header", approval.headers, seen.headers)):
        changes += [f"{what} added: {name}" for name in now if name not in before]
        changes += [f"{what} gone: {name}" for name in before if name not in now]
    return changes or ["the value of something in it: a variable, or a text that is not shown"]


def _word_changes(old: Sequence[str], new: Sequence[str]) -> list[str]:
    changes = []
    for index in range(max(len(old), len(new))):
        before, after = ("".join(words[index : index + 1]) for words in (old, new))
        what = f"argument {index}" if index else "command"
        if index >= len(old):
            changes.append(f"{what} added: {after}")
        elif index >= len(new):
            changes.append(f"{what} gone: {before}")
        elif before != after:
            changes.append(f"{what}: was {before}, now {after}")
    return changes
