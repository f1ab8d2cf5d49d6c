"""Requests that wait for their answers, matched by id.

Theory. If both directions of a conversation share a stream, answers come in any order, twice, late, or never. The table
here has one entry for each open request: an id and the future that gets its answer. The rules:

- *Who owns what.* The reader of the stream owns the table and calls `resolve`, `fail` and `close`. The sender of a
  request owns its future, which it gets from `add` before it sends the request, so that the answer cannot come too
  early. The caller chooses the ids, and never uses one twice while a request waits.
- *An entry leaves the table exactly once*: it is answered, it fails, its owner cancels it (`future.cancel()`, which
  also happens when a task that awaits it is cancelled), or the conversation ends. A later answer with the same id finds
  no entry, and `resolve` returns False.
- *Nothing waits forever.* `close` fails all waiting requests, and all that are added afterwards, with the reason why
  the conversation ended. The sender sets the time limit: `asyncio.timeout` around its await cancels the future, which
  removes the entry.
- *Memory is bounded* by `max_pending`: an `add` beyond it is refused.

All calls come from the event loop's thread and none of them waits, so no locks are needed. A failed future is marked as
seen, because asyncio would log an error that no one awaits.
"""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

RequestId = TypeVar("RequestId", int, str, bytes)
Answer = TypeVar("Answer")


class TooManyPending(Exception):
    """Too many requests wait for their answers."""


class PendingRequests(Generic[RequestId, Answer]):
    """The requests of one conversation that have no answer yet."""

    def __init__(self, *, max_pending: int) -> None:
        self._max_pending = max_pending
        self._futures: dict[RequestId, asyncio.Future[Answer]] = {}
        self._make_error: Callable[[], Exception] | None = None

    def __len__(self) -> int:
        return len(self._futures)

    @property
    def is_closed(self) -> bool:
        return self._make_error is not None

    def add(self, request_id: RequestId) -> "asyncio.Future[Answer]":
        """The future of the answer to a request. It has already failed if the conversation has ended.

        Raises:
            TooManyPending: the request must not be sent.
            ValueError: a request with this id is already waiting.
        """
        if request_id in self._futures:
            raise ValueError(f"a request {request_id!r} waits already")
        if len(self._futures) >= self._max_pending:
            raise TooManyPending(f"{self._max_pending} requests wait for their answers")
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        if self._make_error is not None:
            _set_error(future, self._make_error())
        else:
            self._futures[request_id] = future
            future.add_done_callback(lambda done: self._discard(request_id, done))
        return future

    def resolve(self, request_id: RequestId, answer: Answer) -> bool:
        """Sets the answer to a request. Returns False if no request waits for it."""
        future = self._futures.pop(request_id, None)
        if future is None or future.done():
            return False
        future.set_result(answer)
        return True

    def fail(self, request_id: RequestId, error: Exception) -> bool:
        """Fails a request with an error. Returns False if no such request waits."""
        future = self._futures.pop(request_id, None)
        if future is None or future.done():
            return False
        _set_error(future, error)
        return True

    def close(self, make_error: Callable[[], Exception]) -> None:
        """Fails all waiting and later requests, each with its own error. Only the first call counts."""
        if self._make_error is not None:
            return
        self._make_error = make_error
        futures, self._futures = self._futures, {}
        for future in futures.values():
            if not future.done():
                _set_error(future, make_error())

    def _discard(self, request_id: RequestId, done: "asyncio.Future[Answer]") -> None:
        """Removes a request that its owner has cancelled. Its id may be in use again by then."""
        if self._futures.get(request_id) is done:
            del self._futures[request_id]


def _set_error(future: "asyncio.Future[Answer]", error: Exception) -> None:
    future.set_exception(error)
    future.exception()  # marks it as seen
