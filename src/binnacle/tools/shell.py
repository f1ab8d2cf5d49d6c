"""`bn_run` and the binnacle tools: the command line for agents that only speak MCP.

The passthrough knows no command by name: what `bn` can do, it can do.
"""

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, Protocol

import msgspec
from msgspec import Meta, Struct

from binnacle.errors import InvalidInput, NotFound, NotReady, Refused
from binnacle.passthrough.blocked import blocked_word
from binnacle.passthrough.capture import OnOutput
from binnacle.passthrough.completed import EXIT_NOT_FOUND, EXIT_TIMED_OUT, Completed
from binnacle.tools.caller import Caller
from binnacle.tools.outcome import Reply, as_json
from binnacle.tools.spec import Contract, Hints, ToolSpec
from binnacle.work.actor import Actor

CATEGORY = "binnacle"
SESSIONS = 1000
"""Handles kept at once; the oldest makes room."""

NOT_INITIALISED = "Session not initialized. Call binnacle-set_agent first."


class Run(Protocol):
    """Runs `bn` in a process of its own."""

    async def __call__(
        self,
        args: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        timeout: float,
        on_output: OnOutput | None = None,
    ) -> Completed: ...


AgentExists = Callable[[str, str], Awaitable[bool]]
"""Whether the project at a path knows an agent."""


class Session(Struct, frozen=True, kw_only=True):
    """Where `bn_run` runs, and for whom."""

    id: str
    cwd: str
    agent_id: str | None = None


class SetAgent(Struct, kw_only=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="absolute path of the repository")]
    agent_id: Annotated[
        str | None, Meta(description="agent id (bna-…) from a shell's 'bn orient'; links your calls to that agent")
    ] = None


class BnRun(Struct, kw_only=True, forbid_unknown_fields=True):
    args: Annotated[tuple[str, ...], Meta(description="arguments of bn", examples=[["ready", "-H"]])]
    session: Annotated[str | None, Meta(description="from binnacle-set_agent; the last one when left out")] = None


class Ran(Struct, kw_only=True, omit_defaults=True):
    """What a command said, and how it ended: 124 when it took too long, 127 when bn was not found."""

    stdout: str
    stderr: str
    exit_code: int
    timed_out: bool = False
    truncated: bool = False


class Orient(Struct, kw_only=True, forbid_unknown_fields=True):
    name: Annotated[str | None, Meta(description="how the agent is called")] = None
    type: Annotated[str | None, Meta(description="worker, planner, reviewer or buddy")] = None
    session: str | None = None


class Goodbye(Struct, kw_only=True, forbid_unknown_fields=True):
    reason: Annotated[str | None, Meta(description="what came of it")] = None
    session: str | None = None


class Shell:
    """The four tools, and the sessions they keep."""

    def __init__(self, run: Run, agent_exists: AgentExists, *, cwd: str, timeout: float) -> None:
        """`cwd` is where orient and goodbye work before a session is set; `timeout` is in seconds."""
        self._run = run
        self._agent_exists = agent_exists
        self._cwd = cwd
        self._timeout = timeout
        self._sessions: dict[str, Session] = {}

    def specs(self) -> list[ToolSpec]:
        """The tools, ready for the catalog."""
        margin = self._timeout + 10
        changes = Hints(read_only=False)
        return [
            ToolSpec(
                name="binnacle-set_agent",
                title="Begin a bn session",
                description="Initialize the session with the repository and, optionally, your agent id. Must be called "
                "before bn_run. Returns the session to pass to bn_run.",
                category=CATEGORY,
                hints=Hints(read_only=False, idempotent=True),
                parameters=SetAgent,
                run=self._set_agent,
                errors=(Contract(code="E_NOT_FOUND", when="no such directory, or no such agent"),),
            ),
            ToolSpec(
                name="bn_run",
                title="Run a bn command",
                description="Run a bn command. Returns stdout, stderr and exit_code. `bn --help` lists the commands.",
                category=CATEGORY,
                hints=Hints(read_only=False, destructive=True),
                parameters=BnRun,
                output=Ran,
                run=self._bn_run,
                timeout=margin,
                prefix=True,
                errors=(
                    Contract(code="E_PREREQUISITE", when="binnacle-set_agent was not called"),
                    Contract(code="E_REFUSED", when="gui, mcp, orient and goodbye cannot be passed through"),
                ),
            ),
            ToolSpec(
                name="binnacle-orient",
                title="Register as an agent",
                description="Register this agent and get the project's state. Prefer 'bn orient' in a shell: only then "
                "can goodbye end the process.",
                category=CATEGORY,
                hints=changes,
                parameters=Orient,
                run=self._orient,
                timeout=margin,
            ),
            ToolSpec(
                name="binnacle-goodbye",
                title="Sign off",
                description="Sign off as an agent: releases your tasks, ends no process. Prefer 'bn goodbye' in a "
                "shell.",
                category=CATEGORY,
                hints=changes,
                parameters=Goodbye,
                run=self._goodbye,
                timeout=margin,
            ),
        ]

    async def _set_agent(self, caller: Caller, given: SetAgent) -> Reply:
        path = os.path.realpath(given.path)
        if not os.path.isabs(given.path) or not os.path.isdir(path):
            raise InvalidInput(f"not a directory: {given.path!r}", hint="give the absolute path of the repository")
        if given.agent_id is not None and not await self._agent_exists(path, given.agent_id):
            raise NotFound(
                f"Agent {given.agent_id} not found in registry", hint="run 'bn orient' in a shell and use its agent_id"
            )
        session = Session(id=f"mcp-{os.urandom(8).hex()}", cwd=path, agent_id=given.agent_id)
        while len(self._sessions) >= SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        self._sessions[session.id] = session
        caller.state["shell"] = session
        if given.agent_id is not None:
            caller.state["actor"] = Actor(given.agent_id, "agent")
        who = given.agent_id or session.id
        data = {
            "success": True,
            "message": f"Session initialized for agent {who}",
            "cwd": path,
            "agent_id": given.agent_id,
            "session": session.id,
        }
        return Reply(data, as_json(data))

    async def _bn_run(self, caller: Caller, given: BnRun) -> Reply:
        session = self._session(caller, given.session)
        if session is None:
            raise NotReady(NOT_INITIALISED, hint="call binnacle-set_agent with the repository's absolute path")
        if word := blocked_word(given.args):
            raise _blocked(word)
        done = await self._execute(caller, session, given.args)
        data = Ran(
            stdout=done.stdout,
            stderr=done.stderr,
            exit_code=done.exit_code,
            timed_out=done.timed_out,
            truncated=done.cut,
        )
        return Reply(data, as_json(data), is_error=done.exit_code in (EXIT_TIMED_OUT, EXIT_NOT_FOUND))

    async def _orient(self, caller: Caller, given: Orient) -> Reply:
        session = self._session(caller, given.session) or self._default()
        options = [*(("--name", given.name) if given.name else ()), *(("--type", given.type) if given.type else ())]
        data = await self._answer(caller, session, ["orient", *options])
        agent_id = data.get("agent_id")
        if isinstance(agent_id, str):
            linked = msgspec.structs.replace(session, agent_id=agent_id)
            self._sessions[linked.id] = caller.state["shell"] = linked
            caller.state["actor"] = Actor(agent_id, "agent")
        return Reply(data, as_json(data))

    async def _goodbye(self, caller: Caller, given: Goodbye) -> Reply:
        session = self._session(caller, given.session) or self._default()
        data = await self._answer(caller, session, ["goodbye", *([given.reason] if given.reason else [])])
        return Reply(data, as_json(data))

    def _default(self) -> Session:
        return Session(id=f"mcp-{os.urandom(8).hex()}", cwd=self._cwd)

    def _session(self, caller: Caller, handle: str | None) -> Session | None:
        if handle is None:
            found = caller.state.get("shell")
            return found if isinstance(found, Session) else None
        known = self._sessions.get(handle)
        if known is None:
            raise NotReady(f"no session {handle!r}", hint="call binnacle-set_agent again")
        return known

    async def _answer(self, caller: Caller, session: Session, args: Sequence[str]) -> dict[str, Any]:
        """Runs a command whose JSON answer is the tool's."""
        done = await self._execute(caller, session, args)
        if done.exit_code:
            told = done.stderr.strip()
            try:
                error = msgspec.json.decode(told)["error"]
                raise Refused(str(error["message"]), hint=str(error.get("hint", "")))
            except (msgspec.DecodeError, KeyError, TypeError):
                raise Refused(f"bn {args[0]} failed ({done.exit_code}): {told[-500:]}", hint="see: bn doctor") from None
        answer: dict[str, Any] = msgspec.json.decode(done.stdout)
        return answer

    async def _execute(self, caller: Caller, session: Session, args: Sequence[str]) -> Completed:
        env = {**os.environ, "BN_MCP_SESSION": session.id}
        env.pop("BN_AGENT_ID", None)
        agent = session.agent_id or (caller.actor.name if caller.actor.name.startswith("bna-") else None)
        if agent is not None:
            env["BN_AGENT_ID"] = agent
        return await self._run(args, cwd=session.cwd, env=env, timeout=self._timeout, on_output=_teller(caller))


def _teller(caller: Caller) -> OnOutput:
    """Reports a command's output as progress, by lines."""
    lines = 0

    def tell(stream: str, text: str) -> None:  # noqa: ARG001
        nonlocal lines
        lines += text.count("\n") or 1
        caller.progress(lines, None, text.strip().rpartition("\n")[2][:200])

    return tell


def _blocked(word: str) -> Refused:
    if word in ("orient", "goodbye"):
        return Refused(
            f"Subcommand '{word}' is blocked in bn_run. Use the dedicated MCP tool instead.",
            hint=f"Use shell tool for 'bn {word}' to enable agent termination, or call binnacle-{word}",
        )
    return Refused(f"Subcommand '{word}' is blocked in bn_run.", hint="it cannot work over MCP; run it in a terminal")
