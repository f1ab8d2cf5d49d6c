"""JSON for two readers who need more than JSON says: paths that are not UTF-8, and terminals."""

import msgspec

from binnacle.config.directories import show_path


def escape_for_terminal(encoded: bytes) -> bytes:
    """JSON with every character as `\\uNNNN` that a terminal may obey: JSON itself escapes only those below a space."""
    if encoded.isascii() and b"\x7f" not in encoded:
        return encoded
    text = encoded.decode("utf-8", "replace")
    return "".join(c if c.isprintable() or c == "\n" else _as_units(c) for c in text).encode()


def _as_units(character: str) -> str:
    units = character.encode("utf-16-be").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def encode_escaped(answer: object) -> bytes:
    """The answer as JSON, with every byte that is not UTF-8 as `\\xNN`."""
    return msgspec.json.encode(_escape(msgspec.to_builtins(answer)))


def _escape(value: object) -> object:
    match value:
        case str():
            return show_path(value)
        case list() | tuple():
            return [_escape(one) for one in value]
        case dict():
            return {_escape(name): _escape(one) for name, one in value.items()}
    return value
