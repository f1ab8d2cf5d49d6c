"""Requests that wait for their answers, matched by id.

Theory. Wherever both directions of a conversation share a stream, answers come in any order, twice, late, or never. The
table here has one entry for each request under way: an id and the future that its answer is put into. The rules:

- *Who owns what.* Whoever reads the stream owns the table and calls `resolve`, `fail` and `close`. Whoever asks owns
  its future, which it gets by `add` before it sends the request, so that the answer cannot come too early. Ids are the
  caller's: they are never used twice while a request waits.
- *An entry leaves the table exactly once*: answered, failed, given up by its owner (`future.cancel()`, which is also
  what cancelling a task does that awaits it), or at the end of the conversation. What comes later under the same id
  finds nobody, which `resolve` says and nobody need care about.
- *Nothing waits for ever.* `close` fails everything that waits, and everything that is added afterwards, with the
  reason that the conversation ended. A time limit is the asker's: `asyncio.timeout` around its await cancels the
  future, and with that the entry is gone.
- *Memory is bounded* by `max_pending`: an `add` beyond it is refused.

All calls come from the event loop's thread and none of them waits, so there is nothing to lock. A future whose owner no
longer looks at it is marked as seen when it fails: asyncio would complain of an error that nobody missed.
"""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

RequestId = TypeVar("RequestId", int, str, bytes)
Answer = TypeVar("Answer")


class TooManyPending(Exception):
    """As many requests wait for their answers as may."""


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
        """Where the answer to a request will be. It has failed already if the conversation is over.

        Raises:
            TooManyPending: nothing may be sent.
            ValueError: a request with this id waits already.
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
        """Hands an answer to whoever asked; false if nobody waits for it."""
        future = self._futures.pop(request_id, None)
        if future is None or future.done():
            return False
        future.set_result(answer)
        return True

    def fail(self, request_id: RequestId, error: Exception) -> bool:
        """Lets a request end with an error; false if nobody waits for it."""
        future = self._futures.pop(request_id, None)
        if future is None or future.done():
            return False
        _set_error(future, error)
        return True

    def close(self, make_error: Callable[[], Exception]) -> None:
        """Fails what waits and what is still to come, each with an error of its own. Only the first reason counts."""
        if self._make_error is not None:
            return
        self._make_error = make_error
        futures, self._futures = self._futures, {}
        for future in futures.values():
            if not future.done():
                _set_error(future, make_error())

    def _discard(self, request_id: RequestId, done: "asyncio.Future[Answer]") -> None:
        """Forgets a request whose owner gave it up. Its id may be in use again by then."""
        if self._futures.get(request_id) is done:
            del self._futures[request_id]


def _set_error(future: "asyncio.Future[Answer]", error: Exception) -> None:
    future.set_exception(error)
    future.exception()  # marks it as seen
