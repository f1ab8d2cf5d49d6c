"""Cleans text from people and agents, so that it is safe to store and to print.

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
"""Control characters that separate words: in a single line they become a space."""


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
    """Like `clean_line`, but the result may be empty."""
    plain = text if _is_plain(text) else strip_controls(text.translate(_SPACES))
    line = " ".join(plain.split())
    _check_length(line, what=what, limit=limit)
    return line


def clean_text(text: str, *, what: str, limit: int = MAX_TEXT_CHARACTERS) -> str:
    """Text of several lines without control characters other than newline and tab."""
    if text == "":
        return ""
    clean = strip_controls(text.replace("\r\n", "\n").replace("\r", "\n")).strip()
    _check_length(clean, what=what, limit=limit)
    return clean


def take_last_lines(text: str, limit: int) -> str:
    """The end of a text, in at most `limit` characters. It begins with a line, unless too little would be left."""
    if len(text) <= limit:
        return text
    end = text[len(text) - limit - 1 :]
    lines = end.partition("\n")[2]
    return lines if len(lines) > limit // 2 else end[1:]


def clean_lines(items: Iterable[str], *, what: str, limit: int = MAX_LIST_ENTRIES) -> tuple[str, ...]:
    """Distinct lines in the given order, without empty ones."""
    if items == ():
        return ()
    if isinstance(items, str):
        raise InvalidInput(f"{what} is a list, not a text: {items[:60]!r}", hint=f'["{items[:20]}"]')
    lines = tuple(dict.fromkeys(line for item in items if (line := clean_optional_line(item, what=what, limit=2000))))
    if len(lines) > limit:
        raise InvalidInput(
            f"{len(lines)} entries in {what}, at most {limit} are kept", hint="leave out the less important ones"
        )
    return lines


def clean_paths(items: Iterable[str], *, what: str, limit: int = 30) -> tuple[str, ...]:
    """Paths relative to the repository; absolute ones and those that lead out of it are refused."""
    if items == ():
        return ()
    given = items if isinstance(items, str) else [item.replace("\\", "/") for item in items]
    lines = clean_lines(given, what=what, limit=limit)
    # '.' is dropped before the check: './/etc' must not become '/etc' after it
    paths = dict.fromkeys(map(_drop_dots, lines))
    for path in paths:
        if path.startswith(("/", "~")) or ".." in path.split("/") or path[1:2] == ":":
            raise InvalidInput(
                f"{what} must be inside the repository: {path!r}",
                hint="give a path relative to its root, without '..'",
            )
    return tuple(filter(None, paths))


def _drop_dots(path: str) -> str:
    """A path without '.' parts, even if one appears only after its spaces are stripped, as in './ .//etc'."""
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
    """A key for comparing titles: equal if they differ only in case and spaces."""
    return " ".join(text.casefold().split())


def strip_controls(text: str) -> str:
    """`text` without control characters other than newline and tab, in Unicode normal form."""
    if _is_plain(text):
        return text
    if text.isascii():
        return text.translate(_CONTROLS)
    from unicodedata import normalize

    # Arguments that are not UTF-8 arrive as lone surrogates, which no database accepts. Text that
    # looks the same is stored the same, however its accents were typed.
    return normalize("NFC", text.encode("utf-8", "replace").decode().translate(_CONTROLS))


def _is_plain(text: str) -> bool:
    """Whether there is nothing to strip. True of most lines, and found far sooner than by looking at each character."""
    return text.isascii() and text.isprintable()


def _check_length(text: str, *, what: str, limit: int) -> None:
    if len(text) > limit:
        raise InvalidInput(
            f"{what} has {len(text)} characters, at most {limit} are kept",
            hint="shorten it; long material belongs in a description, a comment or a file",
        )
