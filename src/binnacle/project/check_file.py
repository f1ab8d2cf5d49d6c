"""Reads the checks of a project, `.binnacle/checks.yaml`. They come with the repository, so a check has an effect only
after a person has trusted exactly this definition (`config.trust`).

```yaml
checks:
  - name: tests
    command: make test          # runs without a shell
    setup: make install         # prepares a fresh checkout
    cache: [uv.lock]            # files on which the setup alone depends; then what it made is kept
    timeout: 600                # seconds
    paths: [src/**, tests/**]   # the files it is about
    tier: fast                  # fast: when a task is done; full: when it is merged
    needs: [node]               # programs without which it cannot run
    exclusive: database         # never at once with other checks that have the same word here
    memory: 2048                # MiB for each of its processes
    report: build/test-results/**/*.xml   # JUnit XML that the command writes
protect:                        # what follows if a change touches what judges it
  test_removed: refuse          # allow, ask (a person), refuse
review:                         # who looks at changes before their tasks are done
  default: none                 # none, agent, person, both
  rules:
    - require: person           # the strictest rule that matches wins
      features: [auth]
      paths: [src/pay/**]
```
"""

import os
import re
import shlex
from collections.abc import Callable
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from binnacle.config.command_words import command_words
from binnacle.config.directories import PROJECT_DIR
from binnacle.config.trust import TrustItem, find_trusted, state_of
from binnacle.config.yaml_file import YamlLines, load, parse
from binnacle.errors import ConfigError
from binnacle.project.review_rules import REVIEW_POLICY, WrittenReviews, read_reviews, review_item
from binnacle.work.check import CHECK_TIMEOUT_SECONDS, Check, CheckTier
from binnacle.work.gaming import FindingKind, PolicyDecision
from binnacle.work.review_policy import ReviewPolicy

CHECK_FILE = os.path.join(PROJECT_DIR, "checks.yaml")
"""Its path in a repository."""

POLICY_NAMES = ("protect", REVIEW_POLICY)
"""What is trusted like a check, and is none."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_PROGRAM = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,63}")


class _CheckEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    command: str | list[str]
    setup: str | list[str] = ""
    cache: list[str] = []
    timeout: Annotated[float, Meta(gt=0, le=86_400)] = CHECK_TIMEOUT_SECONDS
    paths: list[str] = []
    tier: CheckTier = "fast"
    needs: list[str] = []
    exclusive: str = ""
    memory: Annotated[int, Meta(ge=0, le=1 << 22)] = 0
    report: str = ""


class _CheckFile(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    checks: list[_CheckEntry] = []
    protect: dict[FindingKind, PolicyDecision] = {}
    review: WrittenReviews | None = None


class CheckFile(Struct, frozen=True, kw_only=True):
    """What the file of a project's checks says."""

    checks: list[Check]
    protect: dict[FindingKind, PolicyDecision]
    """Where the project differs from what follows by default."""

    place: str = ""
    """Where `protect` is written."""

    review: ReviewPolicy | None = None
    """Who has to look at changes."""

    review_place: str = ""


def find_checks(repo: str) -> list[Check]:
    """The checks of a project, in the order of its file, trusted or not.

    Raises:
        ConfigError: with the file, the line, and what was expected.
    """
    return read_check_file(repo).checks


def read_check_file(repo: str) -> CheckFile:
    """The file of a project's checks; empty if there is none.

    Raises:
        ConfigError: with the file, the line, and what was expected.
    """
    path = os.path.join(repo, CHECK_FILE)
    if not os.path.lexists(path):
        return CheckFile(checks=[], protect={})
    return _read_file(*load(path, _CheckFile, root=repo))


def parse_check_file(text: str, *, file: str) -> CheckFile:
    """The same for text, such as that of a commit; `file` is its name in messages."""
    return _read_file(*parse(text, _CheckFile, file=file))


def _read_file(written: _CheckFile, lines: YamlLines) -> CheckFile:
    found: dict[str, Check] = {}
    for index, entry in enumerate(written.checks):
        check = _read(entry, lines, index)
        if check.name in found:
            hint = f"rename one of them; the other is at {found[check.name].place}"
            raise ConfigError(f"{check.place}: there are two checks called {check.name!r}", hint=hint)
        found[check.name] = check
    return CheckFile(
        checks=list(found.values()),
        protect=written.protect,
        place=lines.at("protect"),
        review=read_reviews(written.review, lines) if written.review is not None else None,
        review_place=lines.at("review"),
    )


def _read(entry: _CheckEntry, lines: YamlLines, index: int) -> Check:
    def place(key: str) -> str:
        return lines.at("checks", index, key)

    if entry.name in POLICY_NAMES:
        hint = "these are the names of policies; give another"
        raise ConfigError(f"{place('name')}: not a name for a check: {entry.name!r}", hint=hint)
    if not _NAME.fullmatch(entry.name):
        hint = "letters, digits, -, _ and ., 64 at most"
        raise ConfigError(f"{place('name')}: not a name for a check: {entry.name!r}", hint=hint)
    _check_paths(entry, place)
    for program in entry.needs:
        if not _PROGRAM.fullmatch(program):
            hint = "name it as it is started, without a path"
            raise ConfigError(f"{place('needs')}: not the name of a program: {program!r}", hint=hint)
    if entry.exclusive and not _NAME.fullmatch(entry.exclusive):
        hint = "letters, digits, -, _ and ., 64 at most"
        raise ConfigError(f"{place('exclusive')}: not a name for a lock: {entry.exclusive!r}", hint=hint)
    command, words = _read_command(entry.command, place("command"))
    check = Check(
        name=entry.name,
        command=command,
        words=words,
        setup=_read_command(entry.setup, place("setup"))[1] if entry.setup else (),
        cache=tuple(sorted(set(entry.cache))),
        timeout=entry.timeout,
        paths=tuple(entry.paths),
        tier=entry.tier,
        needs=tuple(entry.needs),
        exclusive=entry.exclusive,
        memory=entry.memory,
        report=entry.report,
        place=lines.at("checks", index),
    )
    return msgspec.structs.replace(check, definition_hash=_hash_definition(check))


def _hash_definition(check: Check) -> str:
    """The name and the place do not decide what runs, nor when it has to."""
    from hashlib import sha256

    parts = (check.words, check.setup, check.timeout, check.paths, check.needs, check.exclusive, check.memory)
    kept = (check.cache,) if check.cache else ()
    reported = ({"report": check.report},) if check.report else ()
    return sha256(msgspec.json.encode((*parts, *kept, *reported))).hexdigest()


def _read_command(given: str | list[str], place: str) -> tuple[str, tuple[str, ...]]:
    """A command as a person types it, and its words."""
    text = given.strip() if isinstance(given, str) else shlex.join(given)
    if not text.isprintable():  # what an agent types is compared with it, character by character
        hint = "put longer ones into a script of the repository"
        raise ConfigError(f"{place}: a command is one line of printable characters: {text!r}", hint=hint)
    return text, command_words(given, place)


def _check_paths(entry: _CheckEntry, place: Callable[[str], str]) -> None:
    for path in entry.paths:
        _check_path(path, place("paths"))
    if entry.report:
        _check_path(entry.report, place("report"))
    for path in entry.cache:
        _check_lock_file(path, place("cache"))
    if entry.cache and not entry.setup:
        raise ConfigError(f"{place('cache')}: there is no setup whose result could be kept", hint="add: setup")


def _check_path(path: str, place: str) -> None:
    if not path or path.startswith("/") or ".." in path.split("/"):
        hint = "begin at the top of the repository, as in: src/**"
        raise ConfigError(f"{place}: not a pattern of files in the repository: {path!r}", hint=hint)


def _check_lock_file(path: str, place: str) -> None:
    _check_path(path, place)
    if path != os.path.normpath(path) or any(sign in path for sign in "*?["):
        hint = "name each file, from the top of the repository, as in: uv.lock"
        raise ConfigError(f"{place}: not the path of a file: {path!r}", hint=hint)


def find_trusted_checks(repo: str) -> tuple[list[Check], list[Check]]:
    """The checks that a person has trusted as they are, and those that have no effect.

    Raises:
        ConfigError: the file of the checks, or that of what was trusted, cannot be read.
    """
    checks, known = find_checks(repo), find_trusted(repo)
    trusted = [one for one in checks if state_of(trust_item_of(one), known) == "trusted"]
    return trusted, [one for one in checks if one not in trusted]


def find_trust_items(repo: str) -> list[TrustItem]:
    """The checks of a project as a person sees them before trusting them."""
    return list_items(read_check_file(repo))


def list_items(file: CheckFile) -> list[TrustItem]:
    """All that a file of checks says, as a person sees it before trusting it."""
    return [*(trust_item_of(check) for check in file.checks), *list_policies(file)]


def list_policies(file: CheckFile) -> list[TrustItem]:
    """What the file says beside checks."""
    policies = [_policy_item(file)] if file.protect else []
    return policies + ([review_item(file.review, file.review_place)] if file.review is not None else [])


def find_protection(repo: str, file: CheckFile) -> dict[FindingKind, PolicyDecision]:
    """What the project's policy changes, if a person has trusted it as it is."""
    is_trusted = bool(file.protect) and state_of(_policy_item(file), find_trusted(repo)) == "trusted"
    return file.protect if is_trusted else {}


def _policy_item(file: CheckFile) -> TrustItem:
    content = "\n".join(f"{kind}: {decision}" for kind, decision in sorted(file.protect.items()))
    does = "decide what follows when a change touches tests, CI and other protected files"
    return TrustItem(kind="check", name="protect", place=file.place, does=does, content=content)


def trust_item_of(check: Check) -> TrustItem:
    """A check as a person sees it before trusting it: everything that its definition says."""
    about = {
        "setup": shlex.join(check.setup),
        "cache": shlex.join(check.cache),
        "timeout": f"{check.timeout:g} s",
        "paths": shlex.join(check.paths),
        "tier": check.tier,
        "needs": shlex.join(check.needs),
        "exclusive": check.exclusive,
        "memory": f"{check.memory} MiB" if check.memory else "",
        "report": check.report,
    }
    content = "\n".join([check.command, *(f"{key}: {value}" for key, value in about.items() if value)])
    does = f"decide when work is done, and let agents of runs run {check.command} without asking"
    return TrustItem(kind="check", name=check.name, place=check.place, does=does, content=content)
