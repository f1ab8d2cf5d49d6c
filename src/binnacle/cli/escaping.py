"""Text that is not UTF-8, as paths may be, in answers that have to be."""

from typing import Any

import msgspec


def encode_escaped(answer: Any) -> bytes:
    """The answer as JSON, with every byte that is not UTF-8 as `\\xNN`."""
    return msgspec.json.encode(_escape(msgspec.to_builtins(answer)))


def escape(text: str) -> str:
    """`text` with every byte that is not UTF-8 as `\\xNN`."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _escape(value: Any) -> Any:
    match value:
        case str():
            return escape(value)
        case list() | tuple():
            return [_escape(one) for one in value]
        case dict():
            return {_escape(name): _escape(one) for name, one in value.items()}
    return value
