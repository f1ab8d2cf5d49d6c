"""Keeps what a process writes, up to a limit, and always reads on: a full pipe would stop the process."""

import asyncio
import codecs
from collections.abc import Callable
from typing import Literal

Stream = Literal["stdout", "stderr"]
OnOutput = Callable[[Stream, str], None]
"""Told of output as it comes, up to the limit. What it raises goes to the loop's exception handler."""


class Capture(asyncio.Protocol):
    """One stream of a process."""

    def __init__(self, *, limit: int, tell: Callable[[str], None] | None = None) -> None:
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when nobody holds the other end any more."""

        self._limit = limit
        self._tell = tell
        self._kept = bytearray()
        self._total = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._transport: asyncio.BaseTransport | None = None

    @property
    def is_cut(self) -> bool:
        return self._total > self._limit

    def text(self) -> str:
        """What was kept, and a notice where that is not all."""
        # A character that the limit cuts in two is left out; one that the process left unfinished is replaced.
        text = codecs.getincrementaldecoder("utf-8")("replace").decode(self._kept, final=not self.is_cut)
        if self.is_cut:
            text += f"\n[output cut: the first {self._limit} of {self._total} bytes are shown]\n"
        return text

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        fitting = data[: max(0, self._limit - self._total)]
        self._total += len(data)
        self._kept += fitting
        if self._tell is not None and (text := self._decoder.decode(fitting)):
            asyncio.get_running_loop().call_soon(self._tell, text)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - what broke the pipe also ended it
        if not self.ended.done():
            self.ended.set_result(None)

    def close(self) -> None:
        """Stops listening. The process may still write; it then gets a broken pipe."""
        if self._transport is not None:
            self._transport.close()


class Output:
    """Both streams of a process."""

    def __init__(self, *, limit: int, on_output: OnOutput | None = None) -> None:
        self.stdout = Capture(limit=limit, tell=_teller(on_output, "stdout"))
        self.stderr = Capture(limit=limit, tell=_teller(on_output, "stderr"))

    @property
    def is_cut(self) -> bool:
        return self.stdout.is_cut or self.stderr.is_cut

    async def wait_ended(self, *, patience: float) -> None:
        """Waits for the last byte, or until patience runs out."""
        await asyncio.wait([self.stdout.ended, self.stderr.ended], timeout=patience)

    def close(self) -> None:
        self.stdout.close()
        self.stderr.close()


def _teller(on_output: OnOutput | None, stream: Stream) -> Callable[[str], None] | None:
    if on_output is None:
        return None
    return lambda text: on_output(stream, text)
