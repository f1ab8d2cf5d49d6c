"""Text as people and agents hand it in, made safe to keep and to print.

Terminals obey control characters and PostgreSQL refuses NUL, so neither is ever stored.
"""

from collections.abc import Iterable

from binnacle.errors import InvalidInput

MAX_TITLE_CHARACTERS = 300
MAX_TEXT_CHARACTERS = 50_000
MAX_LIST_ENTRIES = 100

_NEWLINE_AND_TAB = frozenset((0x09, 0x0A))
_CONTROLS: dict[int, None] = dict.fromkeys(
    [
        *(code for code in range(0x20) if code not in _NEWLINE_AND_TAB),
        *range(0x7F, 0xA0),
        *range(0x202A, 0x202F),  # bidirectional overrides: they make a terminal show another text
        *range(0x2066, 0x206A),
    ]
)

_SPACES = dict.fromkeys((0x00, 0x0B, 0x0C, 0x0D, 0x85), " ")
"""Control characters that part words: in one line they become a space."""


def clean_line(text: str, *, what: str, limit: int = MAX_TITLE_CHARACTERS) -> str:
    """One line without control characters; runs of white space become one space.

    Raises:
        InvalidInput: nothing is left, or more than `limit` characters are.
    """
    line = clean_optional_line(text, what=what, limit=limit)
    if not line:
        raise InvalidInput(f"{what} is empty", hint=f"give a {what} with at least one visible character")
    return line


def clean_optional_line(text: str, *, what: str, limit: int = MAX_TITLE_CHARACTERS) -> str:
    """As `clean_line`, but may come out empty."""
    line = " ".join(strip_controls(text.translate(_SPACES)).split())
    _check_length(line, what=what, limit=limit)
    return line


def clean_text(text: str, *, what: str, limit: int = MAX_TEXT_CHARACTERS) -> str:
    """Text of several lines without control characters other than newline and tab."""
    clean = strip_controls(text.replace("\r\n", "\n").replace("\r", "\n")).strip()
    _check_length(clean, what=what, limit=limit)
    return clean


def clean_lines(items: Iterable[str], *, what: str, limit: int = MAX_LIST_ENTRIES) -> tuple[str, ...]:
    """A list of distinct lines in the order given; empty ones are dropped."""
    if isinstance(items, str):
        raise InvalidInput(f"{what} is a list, not a text: {items[:60]!r}", hint=f'["{items[:20]}"]')
    lines = tuple(dict.fromkeys(line for item in items if (line := clean_optional_line(item, what=what, limit=2000))))
    if len(lines) > limit:
        raise InvalidInput(
            f"{len(lines)} entries in {what}, at most {limit} are kept", hint="leave the lesser ones out"
        )
    return lines


def clean_paths(items: Iterable[str], *, what: str, limit: int = 30) -> tuple[str, ...]:
    """Paths relative to the repository: none absolute, none leading out of it."""
    given = items if isinstance(items, str) else [item.replace("\\", "/") for item in items]
    lines = clean_lines(given, what=what, limit=limit)
    # '.' is dropped before the check: './/etc' must not become '/etc' after it
    paths = dict.fromkeys(map(_drop_dots, lines))
    for path in paths:
        if path.startswith(("/", "~")) or ".." in path.split("/") or path[1:2] == ":":
            raise InvalidInput(
                f"{what} must lie inside the repository: {path!r}",
                hint="give a path relative to its root, without '..'",
            )
    return tuple(filter(None, paths))


def _drop_dots(path: str) -> str:
    """A path without its '.', also where one appears only when the spaces around are gone, as in './ .//etc'."""
    while (shorter := "/".join(part for part in path.split("/") if part != ".").strip()) != path:
        path = shorter
    return path


def clean_name(text: str, *, what: str) -> str:
    """A name for use in commands and URLs: lower case letters, digits, `-` and `_`, at most 64."""
    name = "-".join(strip_controls(text).casefold().split())
    if not name or len(name) > 64 or not name[0].isalnum() or not all(c.isalnum() or c in "-_" for c in name):
        raise InvalidInput(
            f"not a {what} name: {text[:80]!r}",
            hint="use letters, digits, '-' and '_', starting with a letter or digit, at most 64 characters",
        )
    return name


def fold(text: str) -> str:
    """What two titles have in common when they are the same to a reader."""
    return " ".join(text.casefold().split())


def strip_controls(text: str) -> str:
    """`text` as it may be kept: without control characters other than newline and tab, and in one spelling."""
    if text.isascii():
        return text.translate(_CONTROLS)
    from unicodedata import normalize

    # Arguments that are not UTF-8 arrive as lone surrogates, which no database takes. Text that
    # looks the same is kept the same, however its accents were typed.
    return normalize("NFC", text.encode("utf-8", "replace").decode().translate(_CONTROLS))


def _check_length(text: str, *, what: str, limit: int) -> None:
    if len(text) > limit:
        raise InvalidInput(
            f"{what} has {len(text)} characters, at most {limit} are kept",
            hint="shorten it; long material belongs in a description, a comment or a file",
        )
