"""`bn_run` and the binnacle tools: the command line for agents that only speak MCP.

The passthrough does not list commands: it can run whatever `bn` can.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Protocol

import msgspec
from msgspec import Meta, Struct

from binnacle.config.child_environment import for_command
from binnacle.errors import NotReady, Refused
from binnacle.passthrough.blocked_commands import find_blocked_command
from binnacle.passthrough.capture import OnOutput
from binnacle.passthrough.completed_call import EXIT_NOT_FOUND, EXIT_TIMED_OUT, CompletedCall
from binnacle.tools.caller import Caller, SessionControl
from binnacle.tools.outcome import ToolReply, as_json
from binnacle.tools.tool_spec import ToolErrorContract, ToolHints, ToolSpec
from binnacle.work import steps
from binnacle.work.session import Session
from binnacle.work.task import check_can_hold

CATEGORY = "binnacle"

TASK_AFTER_SECONDS = 5.0
"""Seconds after which a command goes on as a task of the protocol, if the client takes those."""

NOT_INITIALISED = "Session not initialized. Call binnacle-set_agent first."


class RunArguments(Protocol):
    """Runs `bn` in a separate process."""

    async def __call__(
        self,
        args: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        timeout: float,
        on_output: OnOutput | None = None,
    ) -> CompletedCall: ...


PLACE_VARIABLES = ("BN_AGENT_ID", "BN_SESSION", "BN_REPO", "BN_MCP_TOKEN")
"""Variables of the server that would make a command run elsewhere or act as someone else."""


class SetAgentParams(Struct, kw_only=True, forbid_unknown_fields=True):
    path: Annotated[str, Meta(description="absolute path of the repository")]
    agent_id: Annotated[
        str | None, Meta(description="agent id (bna-…) from a shell's 'bn orient'; links your calls to that agent")
    ] = None


class BnRunParams(Struct, kw_only=True, forbid_unknown_fields=True):
    args: Annotated[tuple[str, ...], Meta(description="arguments of bn", examples=[["ready", "-H"]])]


class CommandResult(Struct, kw_only=True, omit_defaults=True):
    """A command's output and exit code: 124 when it took too long, 127 when bn was not found."""

    stdout: str
    stderr: str
    exit_code: int
    timed_out: bool = False
    truncated: bool = False


class OrientParams(Struct, kw_only=True, forbid_unknown_fields=True):
    name: Annotated[str | None, Meta(description="name of the agent")] = None
    type: Literal["worker", "planner", "reviewer", "buddy"] | None = None


class GoodbyeParams(Struct, kw_only=True, forbid_unknown_fields=True):
    reason: Annotated[str | None, Meta(description="the result")] = None


class BnTools:
    """The four tools. They change the caller's session through its `SessionControl`."""

    def __init__(self, run: RunArguments, *, timeout: float) -> None:
        """`timeout` is in seconds."""
        self._run = run
        self._timeout = timeout

    def specs(self) -> list[ToolSpec]:
        """The tools, ready for the catalog."""
        margin = self._timeout + 10
        changes = ToolHints(read_only=False)
        return [
            ToolSpec(
                name="binnacle-set_agent",
                title="Begin a bn session",
                description="Initialize the session with the repository and, optionally, your agent id. Must be called "
                "before bn_run. All your calls then work in that repository. Returns the `session` that every tool "
                "takes, for when several agents share a connection.",
                category=CATEGORY,
                hints=ToolHints(read_only=False, idempotent=True),
                parameters=SetAgentParams,
                run=self._set_agent,
                opens_session=True,
                errors=(
                    ToolErrorContract(code="E_NO_PROJECT", when="the path is in no project"),
                    ToolErrorContract(code="E_NOT_FOUND", when="no such agent, or it has ended"),
                ),
            ),
            ToolSpec(
                name="bn_run",
                title="Run a bn command",
                description="Run a bn command. Returns stdout, stderr and exit_code. `bn --help` lists the commands.",
                category=CATEGORY,
                hints=ToolHints(read_only=False, destructive=True),
                parameters=BnRunParams,
                output=CommandResult,
                run=self._bn_run,
                timeout=margin,
                prefix=True,
                errors=(
                    ToolErrorContract(code="E_PREREQUISITE", when="binnacle-set_agent was not called"),
                    ToolErrorContract(code="E_REFUSED", when="gui, mcp, orient and goodbye cannot be passed through"),
                ),
            ),
            ToolSpec(
                name="binnacle-orient",
                title="Register as an agent",
                description="Register this agent and get the project's state. Prefer 'bn orient' in a shell: only then "
                "can goodbye end the process.",
                category=CATEGORY,
                hints=changes,
                parameters=OrientParams,
                run=self._orient,
                opens_session=True,
                timeout=margin,
            ),
            ToolSpec(
                name="binnacle-goodbye",
                title="Sign off",
                description="Sign off as an agent: releases your tasks, ends no process. Prefer 'bn goodbye' in a "
                "shell.",
                category=CATEGORY,
                hints=changes,
                parameters=GoodbyeParams,
                run=self._goodbye,
                timeout=margin,
            ),
        ]

    async def _set_agent(self, caller: Caller, given: SetAgentParams) -> ToolReply:
        opened = await _control(caller).move(given.path, given.agent_id, is_named=caller.is_named)
        data = {
            "success": True,
            "message": f"Session initialized for agent {opened.agent_id or opened.session.actor.name}",
            "cwd": opened.session.cwd,
            "agent_id": opened.agent_id,
            "session": opened.handle,
        }
        return ToolReply(data, as_json(data))

    async def _bn_run(self, caller: Caller, given: BnRunParams) -> ToolReply:
        control = _control(caller)
        if not control.is_open:
            if caller.actor.is_shared:
                check_can_hold(caller.actor)
            raise NotReady(NOT_INITIALISED, hint=steps.CHOOSE_PROJECT)
        if word := find_blocked_command(given.args):
            raise _blocked_error(word)
        client = caller.client
        later = asyncio.get_running_loop().call_later(TASK_AFTER_SECONDS, client.continue_as_task) if client else None
        try:
            done = await self._execute(caller, await control.identify(), given.args)
        finally:
            if later is not None:
                later.cancel()
        data = CommandResult(
            stdout=done.stdout,
            stderr=done.stderr,
            exit_code=done.exit_code,
            timed_out=done.timed_out,
            truncated=done.cut,
        )
        return ToolReply(data, as_json(data), is_error=done.exit_code in (EXIT_TIMED_OUT, EXIT_NOT_FOUND))

    async def _orient(self, caller: Caller, given: OrientParams) -> ToolReply:
        _check_place(caller.session)
        opened = await _control(caller).register(given.name)
        # One word each, so that a value that looks like an option stays a value.
        options = [*([f"--name={given.name}"] if given.name else ()), *([f"--type={given.type}"] if given.type else ())]
        data = await self._answer(caller, opened.session, ["orient", *options])
        data["session"] = opened.handle
        return ToolReply(data, as_json(data))

    async def _goodbye(self, caller: Caller, given: GoodbyeParams) -> ToolReply:
        _check_place(caller.session)
        control = _control(caller)
        data = await self._answer(caller, await control.identify(), ["goodbye", "--", given.reason or ""])
        await control.close()
        return ToolReply(data, as_json(data))

    async def _answer(self, caller: Caller, session: Session, args: Sequence[str]) -> dict[str, Any]:
        """The JSON answer of a command, which is the tool's answer too."""
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

    async def _execute(self, caller: Caller, session: Session, args: Sequence[str]) -> CompletedCall:
        env = {name: value for name, value in for_command(os.environ).items() if name not in PLACE_VARIABLES}
        env |= {"BN_AGENT_ID": session.actor.name, "BN_MCP_SESSION": session.id or "", "BN_OUTPUT": "json"}
        return await self._run(
            args, cwd=session.cwd, env=env, timeout=self._timeout, on_output=_progress_reporter(caller)
        )


def _control(caller: Caller) -> SessionControl:
    if caller.control is None:
        raise Refused("a command has no session to change", hint="run bn instead of this tool")
    return caller.control


def _check_place(session: Session) -> None:
    if session.repo is None:
        raise NotReady("this server was started outside a project", hint=steps.CHOOSE_PROJECT)


def _progress_reporter(caller: Caller) -> OnOutput:
    """A callback that reports a command's output as progress, counted in lines."""
    lines = 0

    def tell(stream: str, text: str) -> None:  # noqa: ARG001
        nonlocal lines
        lines += text.count("\n") or 1
        caller.progress(lines, None, text.strip().rpartition("\n")[2][:200])

    return tell


def _blocked_error(word: str) -> Refused:
    if word in ("orient", "goodbye"):
        return Refused(
            f"Subcommand '{word}' is blocked in bn_run. Use the dedicated MCP tool instead.",
            hint=f"Use shell tool for 'bn {word}' to enable agent termination, or call binnacle-{word}",
        )
    return Refused(f"Subcommand '{word}' is blocked in bn_run.", hint="it cannot work over MCP; run it in a terminal")
