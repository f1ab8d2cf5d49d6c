"""Every error Binnacle raises on purpose, in one tree.

    BinnacleError
    ├── UsageError          E_USAGE              the command line itself is wrong
    ├── InvalidInput        E_INVALID_PARAMS     a value has the wrong type, size or form
    ├── ConfigError         E_CONFIG             a configuration file or setting is wrong
    ├── NoProject           E_NO_PROJECT         the folder is not a project
    ├── NotFound            E_NOT_FOUND          nothing has that id or name
    ├── Ambiguous           E_AMBIGUOUS          several things match, but only one may
    ├── NotReady            E_PREREQUISITE       another tool must be called first
    ├── TimedOut            E_TIMEOUT            it took too long
    ├── ToolDisabled        E_TOOL_DISABLED      the session does not have that tool
    ├── UpstreamError       E_UPSTREAM           another MCP server failed
    │   ├── UpstreamDown    E_UPSTREAM_DOWN      it cannot be reached now
    │   ├── UpstreamBusy    E_UPSTREAM_BUSY      it already has as many calls as it may have
    │   └── UpstreamLogin   E_UPSTREAM_LOGIN     a person must sign in there first
    ├── AgentError          E_AGENT_FAILED       an agent failed
    │   ├── AgentStart      E_AGENT_START        its command cannot be started
    │   ├── AgentEnded      E_AGENT_ENDED        its process ended while it was needed
    │   ├── AgentSilent     E_AGENT_SILENT       it did not answer in time
    │   ├── AgentProtocol   E_AGENT_PROTOCOL     it does not speak the Agent Client Protocol
    │   ├── AgentLogin      E_AGENT_LOGIN        a person must log in to it first
    │   └── AgentLimited    E_AGENT_LIMITED      its model takes no more requests for now
    ├── BridgeError         E_BRIDGE             a script or its host failed; the code says how
    ├── GitError            E_GIT                git failed
    │   └── RemoteUnreachable E_REMOTE_UNREACHABLE the git remote of a run does not answer
    ├── HookFailed          E_HOOK_FAILED        a required hook failed
    ├── Refused             E_REFUSED            a rule of the work model forbids it
    │   ├── Duplicate       E_DUPLICATE          it exists already
    │   ├── Cycle           E_CYCLE              the dependency would close a cycle
    │   ├── Referenced      E_REFERENCED         something else still refers to it
    │   ├── WrongStatus     E_STATUS             the task's status does not allow it
    │   ├── StaleView       E_CHANGED            someone else changed it since it was read
    │   ├── Claimed         E_CLAIMED            someone else holds the task
    │   ├── StaleClaim      E_STALE_CLAIM        someone else has claimed the task since
    │   ├── HoldsAnother    E_HOLDS_ANOTHER      the agent already works on a task
    │   ├── PersonNeeded    E_PERSON_NEEDED      only a person may do this
    │   ├── Unproven        E_UNPROVEN           the task's checks have not passed
    │   └── Full            E_FULL               a list is at its limit
    └── StoreError          E_STORE              the store failed
        ├── StoreBusy       E_STORE_BUSY         someone else held the lock for too long
        ├── StoreFull       E_STORE_FULL         no space is left
        ├── StoreReadOnly   E_STORE_READONLY     it cannot be written
        ├── StoreCorrupt    E_STORE_CORRUPT      the file is damaged or not a store
        ├── StoreNewer      E_STORE_NEWER        written by a newer Binnacle
        ├── StoreUnreachable E_STORE_UNREACHABLE no connection to the database server; nothing was changed
        └── StoreLost       E_STORE_LOST         the connection broke during a commit; the change may have been made

The code is for programs and never changes; the message says what is wrong and where;
the hint is the next step. Messages are lower case with the offending value last.

The code that raises an error does not know who reads it: a person in a shell takes the
next step with a command, an agent with a tool, and agents have different tools. So a hint
that names a command or a tool is a `NextStep`, which is rendered for its reader: in a shell
by `BinnacleError.hint`, over MCP by `tools.hints`. The steps of the work model are in
`work.steps`.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class SuggestedCall(NamedTuple):
    """A call that takes a step: a tool by its own name, and the arguments that matter."""

    tool: str
    arguments: Mapping[str, object] = {}


class NextStep(NamedTuple):
    """A next step. `str()` of it is what a person in a shell reads."""

    words: str
    """What to do, without a command or a tool: `take another task`."""

    command: str = ""
    """The `bn` command that does it, without the `bn`."""

    calls: tuple[SuggestedCall, ...] = ()
    """The calls that do it, the best first. A session may have none of these tools."""

    for_person: bool = False
    """Whether only a person can take it, for example because it needs a browser or an approval."""

    optional: bool = False
    """Whether to leave it out for a reader who cannot take it, because the hint names other steps too."""

    def __str__(self) -> str:
        return f"{self.words}: bn {self.command}" if self.command else self.words


class Flag(NamedTuple):
    """A parameter of the same call that turns a check off, and what happens then: `starts it anyway`."""

    name: str
    words: str

    def __str__(self) -> str:
        return f"--{self.name} {self.words}"


Hint = str | NextStep | Flag | tuple[str | NextStep | Flag, ...]
"""The next step, or several. A `str` names neither a command nor a tool, so it suits every reader."""


class BinnacleError(Exception):
    """What went wrong, for the reader who has to act on it."""

    code = "E_INTERNAL"
    """Stable identifier. Never renamed: programs and agents match on it."""

    retryable = False
    """Whether the same call may succeed later without any change."""

    def __init__(self, message: str, *, hint: Hint = "", details: Mapping[str, object] | None = None) -> None:
        super().__init__(message)
        self.message = message
        steps = (hint,) if isinstance(hint, (str, NextStep, Flag)) else hint
        self.next_steps = tuple(step for step in steps if step)
        """What to do now. To reuse it in another error, pass it as that error's hint."""

        self.details = dict(details or {})

    @property
    def hint(self) -> str:
        """The next steps for a reader in a shell."""
        return "; ".join(str(step) for step in self.next_steps)

    def to_dict(self, *, hint: str | None = None) -> dict[str, object]:
        """The error as programs read it, without empty parts. `hint` replaces the shell's hint."""
        body: dict[str, object] = {"code": self.code, "message": self.message}
        if shown := self.hint if hint is None else hint:
            body["hint"] = shown
        if self.retryable:
            body["retryable"] = True
        if self.details:
            body["details"] = self.details
        return body


class UsageError(BinnacleError):
    code = "E_USAGE"


class InvalidInput(BinnacleError):
    code = "E_INVALID_PARAMS"


class ConfigError(BinnacleError):
    code = "E_CONFIG"


class NoProject(BinnacleError):
    code = "E_NO_PROJECT"


class NotFound(BinnacleError):
    code = "E_NOT_FOUND"


class Ambiguous(BinnacleError):
    code = "E_AMBIGUOUS"


class NotReady(BinnacleError):
    code = "E_PREREQUISITE"


class TimedOut(BinnacleError):
    code = "E_TIMEOUT"
    retryable = True


class ToolDisabled(BinnacleError):
    code = "E_TOOL_DISABLED"


class UpstreamError(BinnacleError):
    code = "E_UPSTREAM"


class UpstreamDown(UpstreamError):
    code = "E_UPSTREAM_DOWN"
    retryable = True


class UpstreamBusy(UpstreamError):
    code = "E_UPSTREAM_BUSY"
    retryable = True


class UpstreamLogin(UpstreamError):
    code = "E_UPSTREAM_LOGIN"


class AgentError(BinnacleError):
    code = "E_AGENT_FAILED"


class AgentStart(AgentError):
    code = "E_AGENT_START"


class AgentEnded(AgentError):
    code = "E_AGENT_ENDED"
    retryable = True


class AgentSilent(AgentError):
    code = "E_AGENT_SILENT"
    retryable = True


class AgentProtocol(AgentError):
    code = "E_AGENT_PROTOCOL"


class AgentLogin(AgentError):
    code = "E_AGENT_LOGIN"


class AgentLimited(AgentError):
    code = "E_AGENT_LIMITED"
    retryable = True

    def __init__(self, message: str, *, after: float | None, hint: Hint = "") -> None:
        super().__init__(message, hint=hint, details={} if after is None else {"retry_after": after})
        self.after = after
        """Seconds to wait before the next request, if the agent said so."""


class BridgeError(BinnacleError):
    """A script or the host that runs it failed. The codes are in `bridge.error_codes`."""

    code = "E_BRIDGE"

    def __init__(
        self,
        code: str,
        message: str,
        *,
        hint: Hint = "",
        retryable: bool = False,
        details: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message, hint=hint, details=details)
        self.code = code
        self.retryable = retryable


class HookFailed(BinnacleError):
    code = "E_HOOK_FAILED"


class GitError(BinnacleError):
    code = "E_GIT"


class RemoteUnreachable(GitError):
    code = "E_REMOTE_UNREACHABLE"
    retryable = True


class Refused(BinnacleError):
    code = "E_REFUSED"


class Duplicate(Refused):
    code = "E_DUPLICATE"


class Cycle(Refused):
    code = "E_CYCLE"


class Referenced(Refused):
    code = "E_REFERENCED"


class WrongStatus(Refused):
    code = "E_STATUS"


class StaleView(Refused):
    code = "E_CHANGED"


class Claimed(Refused):
    code = "E_CLAIMED"


class StaleClaim(Refused):
    code = "E_STALE_CLAIM"


class HoldsAnother(Refused):
    code = "E_HOLDS_ANOTHER"


class PersonNeeded(Refused):
    code = "E_PERSON_NEEDED"


class Unproven(Refused):
    code = "E_UNPROVEN"


class Full(Refused):
    code = "E_FULL"


class StoreError(BinnacleError):
    code = "E_STORE"


class StoreBusy(StoreError):
    code = "E_STORE_BUSY"
    retryable = True


class StoreFull(StoreError):
    code = "E_STORE_FULL"


class StoreReadOnly(StoreError):
    code = "E_STORE_READONLY"


class StoreCorrupt(StoreError):
    code = "E_STORE_CORRUPT"


class StoreNewer(StoreError):
    code = "E_STORE_NEWER"


class StoreUnreachable(StoreError):
    code = "E_STORE_UNREACHABLE"
    retryable = True


class StoreLost(StoreError):
    """The call will work later, but the change may have been made: the hint says to look first."""

    code = "E_STORE_LOST"
    retryable = True


def nearest(word: str, choices: Sequence[str]) -> str | None:
    """The choice most like `word`, or None if none is similar. A choice with two letters swapped wins."""
    from difflib import get_close_matches

    typed = word.casefold()
    by_key = {choice.casefold(): choice for choice in reversed(choices)}
    swaps = (typed[:at] + typed[at + 1] + typed[at] + typed[at + 2 :] for at in range(len(typed) - 1))
    matches = [swap for swap in swaps if swap in by_key] or get_close_matches(typed, list(by_key), n=1, cutoff=0.5)
    return by_key[matches[0]] if matches else None


def did_you_mean(word: str, choices: Sequence[str]) -> str:
    """A hint for an unknown word: the nearest choice, or all choices if there are few."""
    if near := nearest(word, choices):
        return f"did you mean {near!r}?"
    return f"one of: {', '.join(choices)}" if 0 < len(choices) <= 20 else ""
