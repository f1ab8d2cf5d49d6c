"""`+tag` and `-tag` as words of a command: a tag to add, a tag to take away.

They are turned into options before the line of a command that has `--add-tag` is parsed. A `-word` may also be an
option with its value attached (`-dtext`). It is taken for a tag if the task has that tag, and refused if not.
"""

from collections.abc import Iterable, Sequence

from binnacle.cli.command import Argument, arg
from binnacle.errors import UsageError

NEW_TAG = arg("-t", "--tag", "--add-tag", action="append", metavar="TAG", help="a tag, or +TAG; may be repeated")
"""Of a task that is added."""

TAG = arg("-t", "--tag", action="append", metavar="TAG", help="a tag, replacing those it has; may be repeated")
ADD_TAG = arg("--add-tag", action="append", metavar="TAG", help="a tag to add, or +TAG")
REMOVE_TAG = arg("--remove-tag", action="append", metavar="TAG", help="a tag to remove, or -TAG")

_EVERYWHERE = {"-H": False, "-h": False, "-C": True, "--repo": True}
"""Options of every command, and whether they take a value."""


def rewrite_tags(arguments: Iterable[Argument], words: Sequence[str]) -> list[str]:
    """The words of a command that takes tags, with every `+tag` and `-tag` as an option."""
    takes_value = dict(_EVERYWHERE)
    for argument in arguments:
        has_value = argument.options.get("action", "store") in ("store", "append")
        takes_value |= {name: has_value for name in argument.names if name.startswith("-")}
    found: list[str] = []
    for index, word in enumerate(words):
        if word == "--":
            return [*found, *words[index:]]
        is_value = index > 0 and takes_value.get(words[index - 1], False)
        found.append(word if is_value else _rewrite(word, takes_value))
    return found


def _rewrite(word: str, takes_value: dict[str, bool]) -> str:
    sign, name = word[:1], word[1:]
    if sign == "+" and _is_tag(name):
        return f"--add-tag={name}"
    if sign != "-" or not _is_tag(name) or "--remove-tag" not in takes_value or _is_option(name, takes_value):
        return word
    may_be_option = f"-{name[0]}" in takes_value
    return f"--remove-tag=-{name}" if may_be_option else f"--remove-tag={name}"


def _is_option(name: str, takes_value: dict[str, bool]) -> bool:
    """Whether a word can only be an option: one letter, several without a value, or one with a number (`-p1`)."""
    flags = [takes_value.get(f"-{letter}") for letter in name]
    return len(name) == 1 or all(one is False for one in flags) or (bool(flags[0]) and not name[1].isalpha())


def removed_tags(names: Iterable[str], tags: Iterable[str]) -> list[str]:
    """The tags to take away from a task that has `tags`.

    Raises:
        UsageError: a word that may be an option is no tag of the task.
    """
    has = set(tags)
    for word in names:
        name = word.lstrip("-")
        if word != name and name.casefold() not in has:
            raise UsageError(
                f"{word!r} may be the option {word[:2]}, and the task has no tag {name!r}",
                hint=f"{word[:2]} {name[1:]} gives the option its value; --remove-tag {name} removes a tag",
            )
    return [word.lstrip("-") for word in names]


def _is_tag(name: str) -> bool:
    return name[:1].isalpha() and all(c.isalnum() or c in "-_" for c in name)


def retag(tags: Iterable[str], *, add: Iterable[str], remove: Iterable[str]) -> tuple[str, ...]:
    """The tags a task has then, in the order it got them."""
    dropped = {name.casefold() for name in remove}
    return tuple(dict.fromkeys(tag for tag in (*tags, *add) if tag.casefold() not in dropped))
