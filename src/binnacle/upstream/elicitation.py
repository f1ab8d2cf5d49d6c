"""Questions of a server to a person during a call: with the server's name, readable, and never to open a page. No I/O.

A question reaches a person through a client that only knows Binnacle. So it names its server, contains no hidden text,
and one call may ask only a few.
"""

from typing import Any, NoReturn

import msgspec
from msgspec import Raw

from binnacle.upstream.listing import screening
from binnacle.upstream.server_bounds import MAX_QUESTIONS_OF_A_CALL
from binnacle.wire.hidden_text import make_readable
from binnacle.wire.jsonrpc import INVALID_PARAMS, UNREADABLE, RpcError

MAX_QUESTION_BYTES = 64 << 10
"""Bytes of a question, with the form to fill in."""

MAX_MESSAGE_CHARACTERS = 2000


class QuestionScreen:
    """The questions of one call."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._asked = 0

    def screen(self, params: Any) -> dict[str, Any]:
        """The parameters of `elicitation/create` as a person may see them.

        Raises:
            RpcError: the question is not passed on; the message says why.
        """
        self._asked += 1
        if self._asked > MAX_QUESTIONS_OF_A_CALL:
            _refuse(f"a call may ask {MAX_QUESTIONS_OF_A_CALL} questions")
        given = _read(params)
        if given.get("mode", "form") != "form" or "url" in given:
            _refuse("nobody here is sent to a page; ask with a form")
        said = given.get("message")
        message = make_readable(said, MAX_MESSAGE_CHARACTERS) if isinstance(said, str) else ""
        form = screening.clean_schema(given.get("requestedSchema"))
        if form is None:
            _refuse("something is hidden in the form")
        return {"message": f"The MCP server {self._server!r} asks: {message}", "requestedSchema": form}


def _read(params: Any) -> dict[str, Any]:
    raw = params if isinstance(params, Raw) else Raw(msgspec.json.encode(params))
    if memoryview(raw).nbytes > MAX_QUESTION_BYTES:
        _refuse(f"a question has at most {MAX_QUESTION_BYTES >> 10} KiB")
    try:
        return msgspec.json.decode(raw, type=dict[str, Any])
    except UNREADABLE:
        _refuse("a question is an object")


def _refuse(why: str) -> NoReturn:
    raise RpcError(INVALID_PARAMS, why)
