"""Keeps the output of a process, up to a limit, and keeps reading: a full pipe would stop the process.

The event loop watches descriptors but never owns them. When making a transport is cancelled, uvloop closes the
descriptor without its owner's knowledge, who would later close another one with the same number.
"""

import asyncio
import codecs
import os
from collections.abc import Callable
from contextlib import ExitStack
from typing import Literal

Stream = Literal["stdout", "stderr"]
OnOutput = Callable[[Stream, str], None]
"""Called with output as it arrives, up to the limit. Its exceptions go to the loop's exception handler."""

MAX_READ_BYTES = 256 * 1024
"""Bytes read before other tasks run."""


class StreamCapture:
    """One stream of a process."""

    def __init__(self, *, limit: int, tell: Callable[[str], None] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        """Done when all processes have closed the other end."""

        self._limit = limit
        self._tell = tell
        self._kept = bytearray()
        self._total = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._descriptor: int | None = None

    @property
    def is_cut(self) -> bool:
        return self._total > self._limit

    def text(self) -> str:
        """The kept output, with a notice if it was cut."""
        # A character cut by the limit is left out; one that the process left incomplete is replaced.
        text = codecs.getincrementaldecoder("utf-8")("replace").decode(self._kept, final=not self.is_cut)
        if self.is_cut:
            text += f"\n[output cut: the first {self._limit} of {self._total} bytes are shown]\n"
        return text

    def open(self, theirs: ExitStack) -> int:
        """Makes a pipe and reads from it. Returns the end to write to, which closes with `theirs`."""
        self._descriptor, write = os.pipe()
        theirs.callback(os.close, write)
        os.set_blocking(self._descriptor, False)
        self._loop.add_reader(self._descriptor, self._read, self._descriptor)
        return write

    def _read(self, descriptor: int) -> None:
        try:
            data = os.read(descriptor, MAX_READ_BYTES)
        except BlockingIOError:
            return
        if not data:
            self.close()
            return
        fitting = data[: max(0, self._limit - self._total)]
        self._total += len(data)
        self._kept += fitting
        if self._tell is not None and (text := self._decoder.decode(fitting)):
            self._loop.call_soon(self._tell, text)

    def close(self) -> None:
        """Stops reading. A process that still writes gets a broken pipe."""
        if self._descriptor is not None:
            self._loop.remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None
        if not self.ended.done():
            self.ended.set_result(None)


class CapturedOutput:
    """Both streams of a process."""

    def __init__(self, *, limit: int, on_output: OnOutput | None = None) -> None:
        self.stdout = StreamCapture(limit=limit, tell=_teller(on_output, "stdout"))
        self.stderr = StreamCapture(limit=limit, tell=_teller(on_output, "stderr"))

    @property
    def is_cut(self) -> bool:
        return self.stdout.is_cut or self.stderr.is_cut

    async def wait_ended(self, *, patience: float) -> None:
        """Waits for the last byte, at most `patience` seconds."""
        await asyncio.wait([self.stdout.ended, self.stderr.ended], timeout=patience)

    def close(self) -> None:
        self.stdout.close()
        self.stderr.close()


def _teller(on_output: OnOutput | None, stream: Stream) -> Callable[[str], None] | None:
    if on_output is None:
        return None
    return lambda text: on_output(stream, text)
