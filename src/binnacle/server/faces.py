"""Several servers on one port, each at a path and with a token of its own, that come and go while it is served."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from binnacle.server.exchange import Exchange, Reply
from binnacle.server.http import BODY_LIMIT, HttpServer
from binnacle.wire import jsonrpc
from binnacle.wire.jsonrpc import INVALID_REQUEST


class Faces:
    """The faces that are open now, by path."""

    def __init__(self) -> None:
        self._open: dict[str, HttpServer] = {}

    @contextmanager
    def shown(self, path: str, face: HttpServer) -> Iterator[None]:
        """Has `face` answer at `path`. Leaving it ends its streams and stops what is under way."""
        self._open[path] = face
        try:
            yield
        finally:
            del self._open[path]
            face.close()
            face.cancel()

    def admit(self, headers: Mapping[str, str]) -> None:
        """Every face looks for itself: each has its own token."""

    def weigh(self, size: int) -> None:
        """Refuses what is too long for any of them."""
        if size > BODY_LIMIT:
            raise Reply(413)

    def take(self, exchange: Exchange) -> None:
        face = self._open.get(exchange.path)
        if face is None:
            exchange.reply(Reply(404, jsonrpc.error_message(jsonrpc.NO_ID, INVALID_REQUEST, "no such session")))
            return
        try:
            face.admit(exchange.headers)
        except Reply as reply:
            exchange.reply(reply)
        else:
            face.take(exchange)

    def close(self) -> None:
        for face in self._open.values():
            face.close()

    def cancel(self) -> None:
        for face in self._open.values():
            face.cancel()
