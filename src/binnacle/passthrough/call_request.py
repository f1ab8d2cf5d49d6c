"""A command line with its folder and environment, and its form on the way to the process that runs it.

Every text is free of NUL, as the system demands of arguments, paths and variables, so NUL separates them.
"""

import os
import socket
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from binnacle.errors import InvalidInput
from binnacle.processes.facts import MARK_VARIABLE

MAX_REQUEST_BYTES = 1024 * 1024
"""Bytes of a request. The system allows a new process about twice that."""

LENGTH_BYTES = 4
"""Bytes before a frame that say how long it is."""


class CallRequest(NamedTuple):
    """One call."""

    run_id: str
    args: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    """The complete environment of the call, with the mark."""

    @property
    def mark(self) -> bytes:
        """The mark of the call, which all its processes inherit in a variable."""
        return self.env[MARK_VARIABLE.decode()].encode()


def process_name(run_id: str) -> str:
    """The name of a forked process of a call; the system keeps 15 characters."""
    return f"bn-{run_id}"


def make_request(args: Sequence[str], *, cwd: str, env: Mapping[str, str]) -> CallRequest:
    """A call with a new id.

    Raises:
        InvalidInput: no process could be given this.
    """
    run_id = os.urandom(6).hex()
    request = CallRequest(run_id, tuple(args), cwd, {**env, MARK_VARIABLE.decode(): f"{run_id}-1"})
    try:
        texts = _texts(request)
        size = sum(len(text.encode("utf-8", "surrogateescape")) + 1 for text in texts)
    except UnicodeEncodeError as error:
        hint = "take the half characters out of it"
        raise InvalidInput(f"not a text a process can be given: {error.object!r}", hint=hint) from error
    if size > MAX_REQUEST_BYTES:
        raise InvalidInput(
            f"the command line and its environment are longer than {MAX_REQUEST_BYTES} bytes: {size}",
            hint="put long texts into a file and pass its name",
        )
    if (bad := next((text for text in texts if "\0" in text), None)) is not None:
        raise InvalidInput(f"a NUL character cannot be passed to a process: {bad!r}", hint="take it out")
    if (bad := next((name for name in env if not name or "=" in name), None)) is not None:
        raise InvalidInput(f"not a name of a variable: {bad!r}", hint="a name without '='")
    return request


def _texts(request: CallRequest) -> list[str]:
    pairs = [f"{name}={value}" for name, value in request.env.items()]
    return [request.run_id, request.cwd, str(len(request.args)), *request.args, *pairs]


def to_frame(texts: Sequence[str]) -> bytes:
    """Texts as a frame."""
    body = "\0".join(texts).encode("utf-8", "surrogateescape")
    return len(body).to_bytes(LENGTH_BYTES, "big") + body


def from_frame(body: bytes) -> list[str]:
    return body.decode("utf-8", "surrogateescape").split("\0")


def encode_request(request: CallRequest) -> bytes:
    return to_frame(_texts(request))


def receive_request(connection: socket.socket) -> CallRequest | None:
    """The next request from a blocking socket; None when the other side is gone."""
    head = _receive_exactly(connection, LENGTH_BYTES)
    body = _receive_exactly(connection, int.from_bytes(head, "big"))
    if not body:
        return None
    run_id, cwd, count, *rest = from_frame(body)
    args, pairs = rest[: int(count)], rest[int(count) :]
    env = dict(pair.split("=", 1) for pair in pairs)
    return CallRequest(run_id, tuple(args), cwd, env)


def _receive_exactly(connection: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        part = connection.recv(count - len(parts))
        if not part:
            return b""
        parts += part
    return bytes(parts)
