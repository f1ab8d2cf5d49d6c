"""Finds the checks that judge a change, and the policy for what it may do to them.

Definitions come from the base. A base that has no file of checks, as before the first one is merged, has none to
weaken; then those of the project's folder count. Either way a person must have trusted each exactly as it is.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Literal

from msgspec import Struct

from binnacle.config.trust import find_trusted, state_of
from binnacle.errors import ConfigError, NotFound, Refused, did_you_mean
from binnacle.git.command import Git
from binnacle.project.check_file import (
    CHECK_FILE,
    CheckFile,
    find_protection,
    list_items,
    parse_check_file,
    read_check_file,
    trust_item_of,
)
from binnacle.work.check import Check
from binnacle.work.gaming import DEFAULT_PROTECTION, Protection

DefinitionSource = Literal["base", "folder"]


class CheckDefinitions(Struct, frozen=True, kw_only=True):
    """The checks that judge a change."""

    source: DefinitionSource
    file: CheckFile
    protection: Protection
    others: Sequence[Check] = ()
    """Those of the project's folder, where the file of the base is another one."""

    def find(self, name: str, definition: str) -> Check | None:
        """The check with this name and exactly this definition."""
        known = (*self.file.checks, *self.others)
        return next((one for one in known if (one.name, one.definition_hash) == (name, definition)), None)


async def find_definitions(git: Git, repo: str, base: str) -> CheckDefinitions:
    """The definitions for changes of `base`, a commit; empty if there is none.

    Raises:
        ConfigError: the file of checks is wrong.
    """
    if base:
        found = await git.run("cat-file", "blob", f"{base}:{CHECK_FILE}")
        if found.code == 0:
            with suppress(UnicodeDecodeError):
                file = parse_check_file(found.out.decode(), file=f"{base[:8]}:{CHECK_FILE}")
                return _define("base", repo, file, others=read_check_file(repo).checks)
    return _define("folder", repo, read_check_file(repo))


async def is_as_trusted(git: Git, repo: str, commit: str) -> bool:
    """Whether the file of checks in a commit is what a person trusted: all of it, and nothing of that is gone."""
    found = await git.run("cat-file", "blob", f"{commit}:{CHECK_FILE}")
    if found.code:
        return False
    try:
        items = list_items(parse_check_file(found.out.decode(), file=CHECK_FILE))
    except (UnicodeDecodeError, ConfigError):
        return False
    known = find_trusted(repo)
    trusted = {key for key in known if key.startswith("check:")}
    return trusted == {one.key for one in items} and all(state_of(one, known) == "trusted" for one in items)


def _define(source: DefinitionSource, repo: str, file: CheckFile, *, others: Sequence[Check] = ()) -> CheckDefinitions:
    protection: Protection = {**DEFAULT_PROTECTION, **find_protection(repo, file)}
    return CheckDefinitions(source=source, file=file, protection=protection, others=others)


def choose_checks(repo: str, file: CheckFile, names: Sequence[str]) -> list[Check]:
    """The checks of these names, or all that are trusted.

    Raises:
        NotFound: there is no check of that name, or none at all.
        Refused: nobody has trusted it.
    """
    known = {one.name: one for one in file.checks}
    if not known:
        raise NotFound("the project has no checks", hint="propose some: bn check suggest")
    trusted = find_trusted(repo)
    for name in names:
        if name not in known:
            raise NotFound(f"no check {name!r}", hint=did_you_mean(name, list(known)) or "bn check list names them")
    wanted = [known[name] for name in dict.fromkeys(names)] or list(known.values())
    chosen = [one for one in wanted if state_of(trust_item_of(one), trusted) == "trusted"]
    if missing := [one.name for one in wanted if one not in chosen and (names or not chosen)]:
        hint = f"a person reviews it: bn check approve {missing[0]}"
        raise Refused(f"nobody has trusted the check {missing[0]!r} as it is now", hint=hint)
    return chosen
