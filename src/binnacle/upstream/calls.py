"""Carries one request of a client to an upstream server and its answer back, whatever eras the two are of.

A server may ask something before it answers. One of the old era asks while the call is under way, one of the new
era answers with what it wants to know and is called again. So does a client: one of the old era can be asked at any
time, one of the new era is handed the questions as the result, and calls again with the answers.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

import msgspec
from msgspec import Raw, Struct

from binnacle.errors import InvalidInput, TimedOut, UpstreamError
from binnacle.upstream.bounds import MAX_CALL_SECONDS
from binnacle.upstream.client import Client, Waiting
from binnacle.upstream.questions import Questions
from binnacle.upstream.results import fit_result
from binnacle.wire.jsonrpc import METHOD_NOT_FOUND, UNREADABLE, RpcError

ROUNDS = 10
"""Times that a server of the new era may ask before it answers."""

SUSPENDED = 100
"""Calls that wait for a client of the new era to come back with answers; the oldest is given up for a newer one."""

ANSWER_WITHIN = 300.0
"""Seconds a person may take to answer."""

QUESTIONS = {"elicitation/create": "elicitation"}
"""What a server may ask, and the capability of clients that can answer it. No server is told that we could do more."""

Result = dict[str, Any]


class Face(Protocol):
    """The client behind a call."""

    @property
    def era(self) -> str: ...

    @property
    def capabilities(self) -> Mapping[str, Any]: ...

    @property
    def wants_progress(self) -> bool: ...

    @property
    def request_state(self) -> str | None: ...

    @property
    def input_responses(self) -> Mapping[str, Any] | None: ...

    async def ask(self, method: str, params: Any) -> Any: ...


class Deadline:
    """The time a call has, which progress may extend, but not for ever."""

    def __init__(self, seconds: float, *, extends: bool) -> None:
        self._seconds = seconds
        self._extends = extends
        self._timeout: asyncio.Timeout | None = None
        self._last = 0.0
        """When it ends in any case, by the loop's clock."""

    async def within(self, work: Awaitable[Result], *, what: str) -> Result:
        """Does `work` in time.

        Raises:
            TimedOut: it took longer; the server was told that nobody waits any more.
        """
        self._last = asyncio.get_running_loop().time() + max(self._seconds, MAX_CALL_SECONDS)
        try:
            async with asyncio.timeout(self._seconds) as self._timeout:
                return await work
        except TimeoutError as error:
            raise TimedOut(
                f"{what} did not answer within {self._seconds:g} s",
                hint="try again with less to do; the server's timeout can be raised",
            ) from error

    def extend(self) -> None:
        """The server has shown that it is at work."""
        if self._extends and self._timeout is not None and not self._timeout.expired():
            self._timeout.reschedule(min(self._last, asyncio.get_running_loop().time() + self._seconds))


class _Request(Struct):
    method: str = ""
    params: Raw = Raw(b"{}")


class _Suspended:
    """A call that waits for answers of its client, which will call again."""

    def __init__(self, work: "asyncio.Task[Result]", questions: "asyncio.Queue[_Question]") -> None:
        self.work = work
        self.questions = questions
        self.open: dict[str, _Question] = {}


class _Question:
    def __init__(self, method: str, params: Mapping[str, Any]) -> None:
        self.method = method
        self.params = params
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()


class Calls:
    """The calls of all clients to all servers that wait for answers of people."""

    def __init__(self) -> None:
        self._suspended: dict[str, _Suspended] = {}

    async def make(
        self,
        client: Client,
        method: str,
        params: Mapping[str, Any],
        face: Face | None,
        *,
        on_progress: Callable[[Raw], None] | None,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> Result:
        """Asks the server, and the client for what the server wants to know."""
        if face is None or not any(one in face.capabilities for one in QUESTIONS.values()):
            result = await self._ask(client, method, params, Waiting(on_progress), headers)
            if "inputRequests" in result:  # although it was told that nobody can
                raise UpstreamError(
                    f"{client.name} wants to ask something before it answers, and nobody here can be asked",
                    hint="use a client that supports elicitation",
                )
            return result
        if client.era == "stateless":
            return await self._in_rounds(client, method, params, face, on_progress, headers)
        if face.era == "handshake":
            waiting = Waiting(on_progress, _passed_on(face, client.name))
            return await self._ask(client, method, params, waiting, headers)
        return await self._suspending(client, method, params, face, on_progress)

    async def _ask(
        self,
        client: Client,
        method: str,
        params: Mapping[str, Any],
        waiting: Waiting,
        headers: tuple[tuple[str, str], ...],
    ) -> Result:
        answer = await client.exchange(method, params, waiting, headers=headers)
        try:
            result = msgspec.json.decode(answer.result or b"{}", type=dict[str, Raw])
        except UNREADABLE as error:
            raise _nonsense(client.name, method, error) from error
        return fit_result(method, result, is_repaired=answer.is_repaired)

    async def _in_rounds(
        self,
        client: Client,
        method: str,
        params: Mapping[str, Any],
        face: Face,
        on_progress: Callable[[Raw], None] | None,
        headers: tuple[tuple[str, str], ...],
    ) -> Result:
        """A server of the new era: what it wants to know is its result, until it has all it needs."""
        waiting = Waiting(on_progress, _passed_on(face, client.name))
        questions = Questions(client.name)
        given = dict(params)
        if face.request_state is not None:
            given |= {"requestState": face.request_state, "inputResponses": face.input_responses or {}}
        for _ in range(ROUNDS):
            result = await self._ask(client, method, given, waiting, headers)
            if "inputRequests" not in result:
                return result
            asked = _questions_in(result["inputRequests"], questions, face, client.name, method)
            if face.era == "stateless":
                return {**_decoded(result, "requestState"), "inputRequests": asked}
            answers = {key: await _ask_face(face, one["method"], one["params"]) for key, one in asked.items()}
            given = {**params, "inputResponses": answers}
            if "requestState" in result:
                given["requestState"] = result["requestState"]
        raise RpcError(METHOD_NOT_FOUND, f"{client.name} asked {ROUNDS} times and did not answer")

    async def _suspending(
        self,
        client: Client,
        method: str,
        params: Mapping[str, Any],
        face: Face,
        on_progress: Callable[[Raw], None] | None,
    ) -> Result:
        """A server of the old era and a client of the new one: the call stays open while the client is away."""
        if face.request_state is not None:
            return await self._resume(face.request_state, face.input_responses or {})
        questions: asyncio.Queue[_Question] = asyncio.Queue()
        screened = Questions(client.name)

        async def asked(name: str, given: Raw) -> Any:
            _check_asked(face, name)
            question = _Question(name, screened.screen(given))
            questions.put_nowait(question)
            return await question.answer

        work = asyncio.ensure_future(self._ask(client, method, params, Waiting(on_progress, asked), ()))
        return await self._until_asked(_Suspended(work, questions))

    async def _resume(self, state: str, responses: Mapping[str, Any]) -> Result:
        suspended = self._suspended.pop(state, None)
        if suspended is None:
            raise InvalidInput("the call that asked for this is over", hint="call the tool again from the beginning")
        for key, question in suspended.open.items():
            if not question.answer.done():
                question.answer.set_result(responses.get(key, {"action": "cancel"}))
        suspended.open = {}
        return await self._until_asked(suspended)

    async def _until_asked(self, suspended: _Suspended) -> Result:
        """Waits for the answer, or for a question, which then is the result."""
        asking = asyncio.ensure_future(suspended.questions.get())
        try:
            both: set[asyncio.Future[Any]] = {suspended.work, asking}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            suspended.work.cancel()
            raise
        finally:
            if not asking.done():
                asking.cancel()
        if suspended.work.done():
            return suspended.work.result()
        return self._keep(suspended, asking.result())

    def _keep(self, suspended: _Suspended, question: _Question) -> Result:
        suspended.open = {"question": question}
        state = os.urandom(16).hex()
        while len(self._suspended) >= SUSPENDED:
            self._drop(next(iter(self._suspended)))
        self._suspended[state] = suspended
        asyncio.get_running_loop().call_later(ANSWER_WITHIN, self._drop, state)
        request = {"method": question.method, "params": question.params}
        return {"inputRequests": {"question": request}, "requestState": state}

    def _drop(self, state: str) -> None:
        if suspended := self._suspended.pop(state, None):
            suspended.work.cancel()

    def close(self) -> None:
        """Gives up every call that waits."""
        for state in list(self._suspended):
            self._drop(state)


def _passed_on(face: Face, server: str) -> Callable[[str, Raw], Awaitable[Any]]:
    questions = Questions(server)

    async def asked(method: str, params: Raw) -> Any:
        _check_asked(face, method)
        return await _ask_face(face, method, questions.screen(params))

    return asked


def _check_asked(face: Face, method: str) -> None:
    """Refuses what is not passed on, or what the client cannot answer."""
    if QUESTIONS.get(method) not in face.capabilities:
        raise RpcError(METHOD_NOT_FOUND, f"nobody here can be asked {method or 'that'}")


def _questions_in(raw: Raw, questions: Questions, face: Face, server: str, method: str) -> dict[str, dict[str, Any]]:
    """What a server of the new era wants to know, by its keys.

    Raises:
        RpcError: it is not passed on.
        UpstreamError: they are no questions.
    """
    try:
        asked = msgspec.json.decode(raw, type=dict[str, _Request])
    except UNREADABLE as error:
        raise _nonsense(server, method, error) from error
    for one in asked.values():
        _check_asked(face, one.method)
    return {key: {"method": one.method, "params": questions.screen(one.params)} for key, one in asked.items()}


def _nonsense(server: str, method: str, error: Exception) -> UpstreamError:
    text = f"{server} answered {method} with nonsense: {error}"
    return UpstreamError(text, hint="is it an MCP server? its log may say more")


async def _ask_face(face: Face, method: str, params: Any) -> Any:
    try:
        return await face.ask(method, params)
    except TimeoutError:
        raise RpcError(METHOD_NOT_FOUND, "nobody answered in time") from None


def _decoded(result: Result, *keys: str) -> Result:
    """A result, some of whose parts we have to look into."""
    return {key: msgspec.json.decode(value) if key in keys else value for key, value in result.items()}
