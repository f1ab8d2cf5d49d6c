"""Which planned session a command runs in, so that its plan holds there.

Variables are not believed where they would widen what is allowed: an agent can unset BN_SESSION in its shell, or name
another agent. What it cannot change is where its processes come from. So a command belongs to a planned session

- whose secret it has, or a process above it was started with; or
- whose server is above it, as for a command that `bn_run` passed through. A server of several sessions says which one
  by BN_MCP_SESSION, and is believed only about its own.

A process that runs as the same user can do whatever the user can. This keeps a misled agent within its plan; it is no
wall against one that takes the store's file apart.
"""

from collections.abc import Iterator, Mapping, Sequence

from binnacle.config.access_tokens import id_of
from binnacle.errors import Refused
from binnacle.lifecycle.process import Process, ancestors, variable_of
from binnacle.store import agents, sessions
from binnacle.store.transaction import Reader
from binnacle.work.session import Agent, SessionRecord, is_planned

AGENT_VARIABLE = "BN_AGENT_ID"
SESSION_VARIABLE = "BN_SESSION"
MCP_VARIABLE = "BN_MCP_SESSION"
"""Says to a passed-through command in which session it runs. It names, and proves nothing."""

HOOK_VARIABLE = "BN_RUN_SESSION"
"""Says the same to a hook."""


def find_bound(tx: Reader, environ: Mapping[str, str]) -> SessionRecord | None:
    """The planned session whose plan holds for a command; None if there is none.

    Raises:
        Refused: a server of several sessions is above, and nothing says which of them this is.
    """
    mine = sessions.find_by_secret(tx, environ.get(SESSION_VARIABLE, "").strip())
    return mine or find_by_secret_above(tx) or find_by_server(tx, environ)


def check_at_home(tx: Reader | None) -> None:
    """Refuses the agent of a planned session of another project: its plan says nothing about this one.

    `tx` is None where nothing was ever kept, so that no session can be from there.

    Raises:
        Refused: the command runs in the shell of a session that this store does not know.
    """
    for session_id in map(id_of, _secrets_above()):
        if session_id and (tx is None or not sessions.is_known(tx, session_id)):
            raise Refused(
                f"this shell belongs to the session {session_id}, which is none of this project",
                hint="change only what belongs to the project of your session",
            )


def _secrets_above() -> Iterator[str]:
    """The secrets that the processes above were started with."""
    yield from dict.fromkeys(variable_of(process.pid, SESSION_VARIABLE).strip() for process in ancestors())


def find_by_secret_above(tx: Reader) -> SessionRecord | None:
    """The planned session in whose shell a command runs, as the processes above it were started."""
    if not _planned(agents.list_agents(tx)):
        return None  # and no process needs to be looked at
    found = (sessions.find_by_secret(tx, secret) for secret in _secrets_above() if secret)
    return next((session for session in found if session), None)


def find_by_server(tx: Reader, environ: Mapping[str, str]) -> SessionRecord | None:
    """The planned session that the server above a command passed it through for, or ran it as a hook of.

    Raises:
        Refused: it has several, and nothing says which of them this is.
    """
    known = agents.list_agents(tx)
    if not (planned := _planned(known)):
        return None
    above = ancestors()
    served = [agent for agent in planned if _is_served_by(agent, above) and _goes_on(tx, agent)]
    if not served or _is_other_of_server(known, environ, above):
        return None
    named = environ.get(MCP_VARIABLE) or environ.get(HOOK_VARIABLE)
    chosen = [agent for agent in served if agent.id == named] or served
    if len(chosen) > 1:
        names = ", ".join(agent.id for agent in chosen)
        raise Refused(
            f"this command runs under a server of several sessions, and nothing says which one it is: {names}",
            hint=f"leave {SESSION_VARIABLE} as it was set for you",
        )
    return sessions.get(tx, chosen[0].id)


def _planned(known: Sequence[Agent]) -> list[Agent]:
    return [agent for agent in known if is_planned(agent.id)]


def _is_served_by(agent: Agent, above: Sequence[Process]) -> bool:
    return (agent.server_pid, agent.server_started) in {(one.pid, one.started) for one in above}


def _goes_on(tx: Reader, agent: Agent) -> bool:
    return sessions.get(tx, agent.id).status == "active"


def _is_other_of_server(known: Sequence[Agent], environ: Mapping[str, str], above: Sequence[Process]) -> bool:
    """Whether the server above passed a command through for an agent without a plan, which it serves as well."""
    named = environ.get(AGENT_VARIABLE, "").strip()
    return any(agent.id == named and not is_planned(agent.id) and _is_served_by(agent, above) for agent in known)
