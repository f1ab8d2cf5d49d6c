"""Carries one request of a client to an upstream server and its answer back, whichever eras the two speak.

A server may ask something before it answers. A server of the old era asks during the call; a server of the new era
returns its questions as the result and is called again. Likewise for clients: one of the old era can be asked at any
time; one of the new era gets the questions as the result, and calls again with the answers.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from binnacle.errors import InvalidInput, UpstreamError
from binnacle.upstream.answers.oversized_results import size_of
from binnacle.upstream.answers.result_repair import repair_result
from binnacle.upstream.call_deadline import CallDeadline
from binnacle.upstream.configuration.server_config import ServerConfig
from binnacle.upstream.elicitation import QuestionScreen
from binnacle.upstream.mcp_client import CallHandlers, McpClient
from binnacle.upstream.toolsets.toolset import Result, UpstreamAnswer, UpstreamRequest
from binnacle.wire.jsonrpc import METHOD_NOT_FOUND, UNREADABLE, Response, RpcError
from binnacle.wire.mcp import CallingClient

MAX_QUESTION_ROUNDS = 10
"""Times that a server of the new era may ask before it answers."""

MAX_SUSPENDED_CALLS = 100
"""Calls that wait for answers of a client of the new era; beyond that, the oldest is given up."""

ANSWER_WITHIN_SECONDS = 300.0
"""Seconds a person may take to answer."""

QUESTIONS = {"elicitation/create": "elicitation"}
"""What a server may ask, and the capability that clients need for it. We announce nothing more to servers."""

OnProgress = Callable[[Raw], None]


class _Request(Struct):
    method: str = ""
    params: Raw = Raw(b"{}")


class _Suspended:
    """A call that waits until its client calls again with answers."""

    def __init__(self, work: "asyncio.Task[Result]", questions: "asyncio.Queue[_Question]") -> None:
        self.work = work
        self.questions = questions
        self.open: dict[str, _Question] = {}


class _Question:
    def __init__(self, method: str, params: Mapping[str, Any]) -> None:
        self.method = method
        self.params = params
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()


class RequestRelay:
    """All calls that wait for answers of people."""

    def __init__(self) -> None:
        self._suspended: dict[str, _Suspended] = {}

    async def exchange(self, client: McpClient, request: UpstreamRequest, config: ServerConfig) -> UpstreamAnswer:
        """Sends a request within its deadline, and asks the client what the server wants to know."""
        what = f"{config.name}:{request.params.get('name', request.method)}"
        deadline = CallDeadline(
            config.timeout, extends=config.limits.progress_extends, what=what, on_progress=request.on_progress
        )
        caller = request.client
        async with deadline:
            if caller is None or not any(one in caller.capabilities for one in QUESTIONS.values()):
                handlers = CallHandlers(deadline.note_progress)
                answer = await client.exchange(request.method, request.params, handlers, headers=request.headers)
                result = _check_answered(client, _read_result(client, request.method, answer))
            elif client.era == "stateless":
                result = await self._in_rounds(client, request, caller, deadline.note_progress)
            elif caller.era == "handshake":
                handlers = CallHandlers(deadline.note_progress, _pass_on(caller, client.name))
                result = await _ask(client, request, request.params, handlers)
            else:
                result = await self._suspending(client, request, caller, deadline.note_progress)
        return UpstreamAnswer(result, result, size_of(result))

    async def _in_rounds(
        self, client: McpClient, request: UpstreamRequest, caller: CallingClient, on_progress: OnProgress
    ) -> Result:
        """Asks a server of the new era: its questions are its result, until it has all answers."""
        handlers = CallHandlers(on_progress, _pass_on(caller, client.name))
        questions = QuestionScreen(client.name)
        params = dict(request.params)
        if caller.request_state is not None:
            params |= {"requestState": caller.request_state, "inputResponses": caller.input_responses or {}}
        for _ in range(MAX_QUESTION_ROUNDS):
            result = await _ask(client, request, params, handlers)
            if "inputRequests" not in result:
                return result
            asked = _questions_in(result["inputRequests"], questions, caller, client.name, request.method)
            if caller.era == "stateless":
                return {**_decode(result, "requestState"), "inputRequests": asked}
            answers = {key: await _ask_client(caller, one["method"], one["params"]) for key, one in asked.items()}
            params = {**request.params, "inputResponses": answers}
            if "requestState" in result:
                params["requestState"] = result["requestState"]
        raise RpcError(METHOD_NOT_FOUND, f"{client.name} asked {MAX_QUESTION_ROUNDS} times and did not answer")

    async def _suspending(
        self, client: McpClient, request: UpstreamRequest, caller: CallingClient, on_progress: OnProgress
    ) -> Result:
        """Asks a server of the old era for a client of the new one: the call stays open between the client's calls."""
        if caller.request_state is not None:
            return await self._resume(caller.request_state, caller.input_responses or {})
        questions: asyncio.Queue[_Question] = asyncio.Queue()
        screened = QuestionScreen(client.name)

        async def asked(name: str, given: Raw) -> Any:
            _check_asked(caller, name)
            question = _Question(name, screened.screen(given))
            questions.put_nowait(question)
            return await question.answer

        work = asyncio.ensure_future(_ask(client, request, request.params, CallHandlers(on_progress, asked)))
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
        """Waits for the answer or a question, and returns it."""
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
        while len(self._suspended) >= MAX_SUSPENDED_CALLS:
            self._drop(next(iter(self._suspended)))
        self._suspended[state] = suspended
        asyncio.get_running_loop().call_later(ANSWER_WITHIN_SECONDS, self._drop, state)
        request = {"method": question.method, "params": question.params}
        return {"inputRequests": {"question": request}, "requestState": state}

    def _drop(self, state: str) -> None:
        if suspended := self._suspended.pop(state, None):
            suspended.work.cancel()

    def close(self) -> None:
        """Gives up every call that waits."""
        for state in list(self._suspended):
            self._drop(state)


async def _ask(
    client: McpClient, request: UpstreamRequest, params: Mapping[str, Any], handlers: CallHandlers
) -> Result:
    answer = await client.exchange(request.method, params, handlers, headers=request.headers)
    return _read_result(client, request.method, answer)


def _read_result(client: McpClient, method: str, answer: Response) -> Result:
    try:
        result = msgspec.json.decode(answer.result or b"{}", type=dict[str, Raw])
    except UNREADABLE as error:
        raise _nonsense(client.name, method, error) from error
    return repair_result(method, result, is_repaired=answer.is_repaired)


def _check_answered(client: McpClient, result: Result) -> Result:
    """Refuses a question from a server that was told that its client cannot be asked."""
    if "inputRequests" in result:
        raise UpstreamError(
            f"{client.name} wants to ask something before it answers, and nobody here can be asked",
            hint="use a client that supports elicitation",
        )
    return result


def _pass_on(caller: CallingClient, server: str) -> Callable[[str, Raw], Awaitable[Any]]:
    questions = QuestionScreen(server)

    async def asked(method: str, params: Raw) -> Any:
        _check_asked(caller, method)
        return await _ask_client(caller, method, questions.screen(params))

    return asked


def _check_asked(caller: CallingClient, method: str) -> None:
    """Refuses what is not passed on, or what the client cannot answer."""
    if QUESTIONS.get(method) not in caller.capabilities:
        raise RpcError(METHOD_NOT_FOUND, f"nobody here can be asked {method or 'that'}")


def _questions_in(
    raw: Raw, questions: QuestionScreen, caller: CallingClient, server: str, method: str
) -> dict[str, dict[str, Any]]:
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
        _check_asked(caller, one.method)
    return {key: {"method": one.method, "params": questions.screen(one.params)} for key, one in asked.items()}


def _nonsense(server: str, method: str, error: Exception) -> UpstreamError:
    text = f"{server} answered {method} with nonsense: {error}"
    return UpstreamError(text, hint="is it an MCP server? its log may say more")


async def _ask_client(caller: CallingClient, method: str, params: Any) -> Any:
    try:
        return await caller.ask(method, params)
    except TimeoutError:
        raise RpcError(METHOD_NOT_FOUND, "nobody answered in time") from None


def _decode(result: Result, *keys: str) -> Result:
    """A result with its top-level fields decoded."""
    return {key: msgspec.json.decode(value) if key in keys else value for key, value in result.items()}
