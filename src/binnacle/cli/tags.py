"""`+tag` and `-tag` as words of a command: a tag to add, a tag to take away.

They are turned into options before the line of a command that has `--add-tag` is parsed. A `-word` may also be an
option with its value attached (`-p1`, `-dtext`). What could be either is refused: the one meant is never guessed.
"""

from collections.abc import Iterable, Sequence

from binnacle.cli.command import Argument, arg
from binnacle.errors import UsageError

NEW_TAG = arg("-t", "--tag", "--add-tag", action="append", metavar="TAG", help="a tag, or +TAG; may be repeated")
"""Of a task that is added."""

TAG = arg("-t", "--tag", action="append", metavar="TAG", help="a tag, instead of those it has; may be repeated")
ADD_TAG = arg("--add-tag", action="append", metavar="TAG", help="a tag beside those it has, or +TAG")
REMOVE_TAG = arg("--remove-tag", action="append", metavar="TAG", help="a tag to take away, or -TAG")

_EVERYWHERE = {"-H": False, "-h": False, "-C": True, "--repo": True}
"""Options of every command, and whether they take a value."""


def rewrite_tags(prog: str, arguments: Iterable[Argument], words: Sequence[str]) -> list[str]:
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
        found.append(word if is_value else _rewrite(prog, word, takes_value))
    return found


def _rewrite(prog: str, word: str, takes_value: dict[str, bool]) -> str:
    sign, name = word[:1], word[1:]
    if sign not in ("+", "-") or not _is_tag(name):
        return word
    if sign == "+":
        return f"--add-tag={name}"
    if "--remove-tag" not in takes_value:
        return word
    option = word[:2]
    if len(name) == 1 or all(takes_value.get(f"-{letter}") is False for letter in name):
        return word  # an option, or several without a value in one word
    if option not in takes_value:
        return f"--remove-tag={name}"
    if not name[1].isalpha():
        return word  # -p1
    raise UsageError(
        f"{prog}: {word!r} may be the tag {name!r} or the option {option}",
        hint=f"--remove-tag {name} takes the tag away; {option} {name[1:]} gives the option its value",
    )


def _is_tag(name: str) -> bool:
    return name[:1].isalpha() and all(c.isalnum() or c in "-_" for c in name)


def retag(tags: Iterable[str], *, add: Iterable[str], remove: Iterable[str]) -> tuple[str, ...]:
    """The tags a task has then, in the order it got them."""
    dropped = {name.casefold() for name in remove}
    return tuple(dict.fromkeys(tag for tag in (*tags, *add) if tag.casefold() not in dropped))
