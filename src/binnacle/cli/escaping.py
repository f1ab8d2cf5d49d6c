"""Text that is not UTF-8, as paths may be, in answers that have to be."""

from typing import Any

import msgspec

from binnacle.config.location import show_path


def encode_escaped(answer: Any) -> bytes:
    """The answer as JSON, with every byte that is not UTF-8 as `\\xNN`."""
    return msgspec.json.encode(_escape(msgspec.to_builtins(answer)))


def _escape(value: Any) -> Any:
    match value:
        case str():
            return show_path(value)
        case list() | tuple():
            return [_escape(one) for one in value]
        case dict():
            return {_escape(name): _escape(one) for name, one in value.items()}
    return value
