"""Answers MCP requests of both eras for one provider of content. Independent of the transport."""

import asyncio
import logging
import os
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Literal, NamedTuple

import msgspec

from binnacle.server.protocol_tasks import ProtocolTask
from binnacle.server.provider import ContentProvider, Result
from binnacle.server.request import McpRequest, Peer, Send
from binnacle.server.task_requests import TaskRequests
from binnacle.wire import jsonrpc
from binnacle.wire.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND, Request, RpcError
from binnacle.wire.mcp import (
    CACHEABLE,
    HANDSHAKE_VERSIONS,
    LATEST_HANDSHAKE,
    LEVELS,
    ONLY_HANDSHAKE,
    ONLY_STATELESS,
    SERVER_INFO_KEY,
    STATELESS_VERSIONS,
    SUBSCRIPTION_KEY,
    CallParams,
    CompleteParams,
    Era,
    InitializeParams,
    LevelParams,
    ListenParams,
    ListenTo,
    ListParams,
    Params,
    PromptParams,
    ReadParams,
    decode_params,
)
from binnacle.wire.mcp_tasks import (
    HANDSHAKE_VERSION_WITH_TASKS,
    STATELESS_CAPABILITY,
    describe_task,
    describe_with_outcome,
    missing_extension,
    takes_tasks,
)

_log = logging.getLogger(__name__)

Changed = Literal["tools", "prompts", "resources"]

Handler = Callable[[McpRequest, Any], Awaitable[Result]]


class McpAnswer(NamedTuple):
    """The answer to a request."""

    message: bytes
    code: int = 0
    """The error's code; 0 for a result."""


class ChangeListener(NamedTuple):
    """A subscription to changes, of the stateless era."""

    id: bytes
    """Id of the subscribing request; every notification carries it."""

    wanted: ListenTo
    send: Send


class McpServer:
    """One server. It notifies peers and listeners of changes."""

    def __init__(self, provider: ContentProvider) -> None:
        self.provider = provider
        self._peers: weakref.WeakSet[Peer] = weakref.WeakSet()
        self._listeners: set[ChangeListener] = set()
        # Request states are kept by the client, and signed so that it cannot forge them.
        self._key = os.urandom(32)
        self._tasks = TaskRequests(self._tell_task, is_long=provider.is_long)
        self._handlers: dict[str, tuple[type[Params], Handler]] = {
            "ping": (Params, self._ping),
            "server/discover": (Params, self._discover),
            "logging/setLevel": (LevelParams, self._set_level),
            "tools/list": (ListParams, provider.list_tools),
            "tools/call": (CallParams, provider.call_tool),
            "resources/list": (ListParams, provider.list_resources),
            "resources/templates/list": (ListParams, provider.list_templates),
            "resources/read": (ReadParams, provider.read_resource),
            "resources/subscribe": (ReadParams, self._subscribe),
            "resources/unsubscribe": (ReadParams, self._unsubscribe),
            "prompts/list": (ListParams, provider.list_prompts),
            "prompts/get": (PromptParams, provider.get_prompt),
            "completion/complete": (CompleteParams, provider.complete),
            "initialize": (InitializeParams, self._initialize),
            **(self._tasks.handlers if self._has_tasks else {}),
        }

    @property
    def _has_tasks(self) -> bool:
        return "tasks" in self.provider.capabilities

    def join(self, peer: Peer) -> None:
        """Notifies a peer of changes from now on, as long as it exists and has a `send`."""
        self._peers.add(peer)

    async def answer(self, request: Request, peer: Peer, era: Era, send: Send) -> McpAnswer:
        """Handles one request. It raises only cancellation."""
        try:
            result = await self._handle(request, peer, era, send)
            return McpAnswer(jsonrpc.result_message(request.id, jsonrpc.encode(result)))
        except RpcError as error:
            return McpAnswer(jsonrpc.error_message(request.id, error.code, error.message, error.data), error.code)
        except RecursionError:
            text = "the request, or its answer, is nested too deeply"
            return McpAnswer(jsonrpc.error_message(request.id, INVALID_PARAMS, text), INVALID_PARAMS)
        except Exception as error:  # noqa: BLE001 - a defect in one handler must not end the connection
            _log.exception("internal error while answering '%s'", request.method)
            message = f"internal error: {type(error).__name__}"
            return McpAnswer(jsonrpc.error_message(request.id, jsonrpc.INTERNAL_ERROR, message), jsonrpc.INTERNAL_ERROR)

    async def _handle(self, request: Request, peer: Peer, era: Era, send: Send) -> Result:
        kind, handler = self._find(request.method, era)
        params = decode_params(request.params, kind)
        if isinstance(params.request_state, str):
            params.request_state = self._unseal(params.request_state, _subject(request.method, params))
        call = McpRequest(peer, era, params, send)

        async def work() -> Result:
            result = await handler(call, params)
            if "requestState" in result:
                result["requestState"] = self._seal(result["requestState"], _subject(request.method, params))
            return result if era == "handshake" else self._add_stateless_fields(request.method, result)

        is_wanted = True
        try:
            if isinstance(params, CallParams) and self._has_tasks:
                return await self._run_tool(call, params, work)
            return await work()
        except asyncio.CancelledError:
            is_wanted = False
            raise
        finally:
            # Its last word about its progress comes before the answer, unless nobody waits for it.
            call.end_progress(is_wanted=is_wanted)

    async def _run_tool(
        self, call: McpRequest, params: CallParams, work: Callable[[], Coroutine[Any, Any, Result]]
    ) -> Result:
        result = await self._tasks.run(call, params, work)
        return result if call.era == "handshake" else self._add_stateless_fields("tools/call", result)

    def _find(self, method: str, era: Era) -> tuple[type[Params], Handler]:
        foreign = ONLY_HANDSHAKE if era == "stateless" else ONLY_STATELESS
        found = self._handlers.get(method)
        if found is None or method in foreign:
            raise RpcError(METHOD_NOT_FOUND, f"method not found: {method}")
        return found

    def _add_stateless_fields(self, method: str, result: Result) -> Result:
        """Adds the fields that the stateless era requires in every result."""
        kind = "input_required" if "inputRequests" in result else "complete"
        cache = {"ttlMs": 0, "cacheScope": "private"} if method in CACHEABLE else {}
        meta = {**result.get("_meta", {}), SERVER_INFO_KEY: self.provider.info}
        return {"resultType": kind, **cache, **result, "_meta": meta}

    def changed(self, what: Changed) -> None:
        """Notifies all subscribers that a list has changed."""
        self._tell(f"notifications/{what}/list_changed", {}, lambda wanted: bool(getattr(wanted, what)), lambda _: True)

    def updated(self, uri: str) -> None:
        """Notifies the subscribers of a resource that it has changed."""
        self._tell(
            "notifications/resources/updated",
            {"uri": uri},
            lambda wanted: uri in wanted.subscriptions,
            lambda peer: uri in peer.subscriptions,
        )

    def _tell(
        self,
        method: str,
        params: dict[str, Any],
        is_wanted: Callable[[ListenTo], bool],
        is_for: Callable[[Peer], bool],
    ) -> None:
        message = jsonrpc.notification_message(method, params)
        for peer in list(self._peers):
            if peer.send is not None and peer.version and is_for(peer):
                peer.send(message)
        for listener in list(self._listeners):
            if is_wanted(listener.wanted):
                meta = {"_meta": {SUBSCRIPTION_KEY: msgspec.Raw(listener.id)}}
                listener.send(jsonrpc.notification_message(method, params | meta))

    def _tell_task(self, task: ProtocolTask) -> None:
        """Notifies the client of a task that it has changed, if the client listens."""
        if task.era == "handshake":
            peer = task.owner
            if isinstance(peer, Peer) and peer.send is not None:
                params = describe_task(task.state, "handshake")
                peer.send(jsonrpc.notification_message("notifications/tasks/status", params))
            return
        for listener in list(self._listeners):
            if task.id in listener.wanted.tasks:
                meta = {"_meta": {SUBSCRIPTION_KEY: msgspec.Raw(listener.id)}}
                params = describe_with_outcome(task.state, "stateless")
                listener.send(jsonrpc.notification_message("notifications/tasks", params | meta))

    def listen(self, request: Request, peer: Peer, send: Send) -> ChangeListener:
        """Starts a subscription of the stateless era, which lasts until `forget`.

        Raises:
            RpcError: its parameters are invalid, or it is about tasks and its client does not declare them.
        """
        params = decode_params(request.params, ListenParams)
        if params.notifications.tasks and not takes_tasks(params.meta.capabilities if params.meta else None):
            raise missing_extension()
        wanted = self._grant(params.notifications, peer)
        listener = ChangeListener(request.id, wanted, send)
        self._listeners.add(listener)
        body = {"notifications": wanted, "_meta": {SUBSCRIPTION_KEY: msgspec.Raw(request.id)}}
        send(jsonrpc.notification_message("notifications/subscriptions/acknowledged", body))
        return listener

    def _grant(self, wanted: ListenTo, peer: Peer) -> ListenTo:
        """The wanted changes that the provider announces at all."""

        def has(what: Changed, how: str = "listChanged") -> bool:
            return bool(self.provider.capabilities.get(what, {}).get(how))

        return ListenTo(
            tools=wanted.tools and has("tools"),
            prompts=wanted.prompts and has("prompts"),
            resources=wanted.resources and has("resources"),
            subscriptions=wanted.subscriptions if has("resources", "subscribe") else (),
            tasks=self._tasks.choose_known(wanted.tasks, peer),
        )

    def forget(self, listener: ChangeListener) -> None:
        """Ends a subscription, if it has not ended already."""
        self._listeners.discard(listener)

    async def leave(self, peer: Peer) -> None:
        """Called when a client has closed its connection."""
        await self._tasks.end_all(peer)
        await self.provider.leave(peer)

    async def aclose(self) -> None:
        """Ends the calls that go on as tasks."""
        await self._tasks.end_all()

    def farewell(self, listener: ChangeListener) -> bytes:
        """The answer to a subscribing request, which is sent only when the server ends the subscription."""
        meta = {SUBSCRIPTION_KEY: msgspec.Raw(listener.id), SERVER_INFO_KEY: self.provider.info}
        return jsonrpc.result_message(listener.id, jsonrpc.encode({"resultType": "complete", "_meta": meta}))

    async def _initialize(self, call: McpRequest, params: InitializeParams) -> Result:
        peer = call.peer
        peer.version = params.version if params.version in HANDSHAKE_VERSIONS else LATEST_HANDSHAKE
        peer.capabilities, peer.client = params.capabilities, params.client
        return {
            "protocolVersion": peer.version,
            "capabilities": self._capabilities(has_tasks=peer.version == HANDSHAKE_VERSION_WITH_TASKS),
            "serverInfo": self.provider.info,
            "instructions": self.provider.instructions,
        }

    async def _discover(self, call: McpRequest, params: Params) -> Result:  # noqa: ARG002
        return {
            "supportedVersions": list(STATELESS_VERSIONS),
            "capabilities": self._capabilities() | (STATELESS_CAPABILITY if self._has_tasks else {}),
            "instructions": self.provider.instructions,
        }

    def _capabilities(self, *, has_tasks: bool = False) -> dict[str, Any]:
        """What a client of a version is told. Only one version of the handshake era knows tasks."""
        return {name: value for name, value in self.provider.capabilities.items() if has_tasks or name != "tasks"}

    async def _ping(self, call: McpRequest, params: Params) -> Result:  # noqa: ARG002
        return {}

    async def _set_level(self, call: McpRequest, params: LevelParams) -> Result:
        call.peer.level = LEVELS.index(params.level)
        return {}

    async def _subscribe(self, call: McpRequest, params: ReadParams) -> Result:
        call.peer.subscriptions.add(params.uri)
        await self.provider.follow(self.subscriptions())
        return {}

    async def _unsubscribe(self, call: McpRequest, params: ReadParams) -> Result:
        call.peer.subscriptions.discard(params.uri)
        await self.provider.follow(self.subscriptions())
        return {}

    def subscriptions(self) -> frozenset[str]:
        """The resources with subscribers."""
        wanted = (listener.wanted.subscriptions for listener in self._listeners)
        return frozenset().union(*(peer.subscriptions for peer in self._peers), *wanted)

    def _seal(self, state: str, subject: str) -> str:
        from base64 import urlsafe_b64encode

        body = urlsafe_b64encode(state.encode()).decode()
        return f"{body}.{self._signature(body, subject)}"

    def _unseal(self, sealed: str, subject: str) -> str:
        from base64 import urlsafe_b64decode
        from hmac import compare_digest

        body, _, signature = sealed.rpartition(".")
        if not compare_digest(signature.encode(), self._signature(body, subject).encode()):
            raise RpcError(
                INVALID_PARAMS, "invalid params: requestState was not issued by this server for this request"
            )
        return urlsafe_b64decode(body).decode()

    def _signature(self, body: str, subject: str) -> str:
        """The signature of a state. It includes `subject`, so that the state of one tool is invalid for another."""
        from hmac import new

        return new(self._key, f"{body} {subject}".encode(), "sha256").hexdigest()[:32]


def _subject(method: str, params: Params) -> str:
    """What a state belongs to that goes through the client's hands: the tool, prompt or resource asked for."""
    return f"{method} {getattr(params, 'name', getattr(params, 'uri', ''))}"
