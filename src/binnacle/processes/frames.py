"""Messages on the keeper's socket: a length, then a tuple encoded by `marshal`.

Both sides run the same interpreter, and no other process has the socket.
"""

import marshal

LENGTH_BYTES = 4
"""Bytes that say how long the tuple is."""


def pack(*message: object) -> bytes:
    """One message. Its first item is a word, the others are numbers, bytes, or tuples of bytes."""
    body = marshal.dumps(message)  # type: ignore[arg-type]  # the type of what it takes has no public name
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


class FrameUnpacker:
    """Finds messages in a stream that arrives in pieces."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[tuple]:  # type: ignore[type-arg]  # `Any` would load typing
        """The messages that `data` completes."""
        self._rest += data
        messages = []
        while len(self._rest) >= LENGTH_BYTES:
            end = LENGTH_BYTES + int.from_bytes(self._rest[:LENGTH_BYTES], "big")
            if len(self._rest) < end:
                break
            messages.append(marshal.loads(self._rest[LENGTH_BYTES:end]))  # noqa: S302 - written by our own process
            del self._rest[:end]
        return messages
