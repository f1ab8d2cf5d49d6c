"""Finds the planned session that a command runs in, so that the session's plan applies.

Variables are not trusted where they would widen what is allowed: an agent can unset BN_SESSION in its shell, or name
another agent. It cannot change which processes its own come from. So a command belongs to a planned session if

- it has the session's secret, or an ancestor process was started with it; or
- the session's server is an ancestor, as for a command that `bn_run` passes through. A server of several sessions
  names one with BN_MCP_SESSION, which counts only for the server's own sessions.

A process that runs as the same user can do whatever the user can. This keeps a misled agent within its plan; it does
not stop an agent that edits the store's file.
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
"""Names the session of a passed-through command. It proves nothing."""

HOOK_VARIABLE = "BN_RUN_SESSION"
"""The same for a hook."""


def find_bound(tx: Reader, environ: Mapping[str, str]) -> SessionRecord | None:
    """The planned session whose plan applies to a command; None if there is none.

    Raises:
        Refused: an ancestor serves several sessions, and nothing says which of them this is.
    """
    mine = sessions.find_by_secret(tx, environ.get(SESSION_VARIABLE, "").strip())
    return mine or find_by_secret_above(tx) or find_by_server(tx, environ)


def check_at_home(tx: Reader | None) -> None:
    """Refuses the agent of a planned session of another project: its plan does not cover this one.

    `tx` is None if the project has no store yet, so that no session can belong to it.

    Raises:
        Refused: the command runs in the shell of a session that this store does not know.
    """
    for session_id in map(id_of, _secrets_above()):
        if session_id and (tx is None or not sessions.is_known(tx, session_id)):
            raise Refused(
                f"this shell belongs to session {session_id}, which is not of this project",
                hint="change only what belongs to the project of your session",
            )


def _secrets_above() -> Iterator[str]:
    """The secrets that the ancestor processes were started with."""
    yield from dict.fromkeys(variable_of(process.pid, SESSION_VARIABLE).strip() for process in ancestors())


def find_by_secret_above(tx: Reader) -> SessionRecord | None:
    """The planned session whose secret an ancestor process was started with."""
    if not _only_planned(agents.list_agents(tx)):
        return None  # saves looking at processes
    found = (sessions.find_by_secret(tx, secret) for secret in _secrets_above() if secret)
    return next((session for session in found if session), None)


def find_by_server(tx: Reader, environ: Mapping[str, str]) -> SessionRecord | None:
    """The planned session for which the ancestor server runs this command, passed through or as a hook.

    Raises:
        Refused: the server has several sessions, and nothing says which of them this is.
    """
    known = agents.list_agents(tx)
    if not (planned := _only_planned(known)):
        return None
    above = ancestors()
    served = [agent for agent in planned if _is_served_by(agent, above) and _is_active(tx, agent)]
    if not served or _is_of_unplanned_agent(known, environ, above):
        return None
    named = environ.get(MCP_VARIABLE) or environ.get(HOOK_VARIABLE)
    chosen = [agent for agent in served if agent.id == named] or served
    if len(chosen) > 1:
        names = ", ".join(agent.id for agent in chosen)
        raise Refused(
            f"the server that runs this command has several sessions, and nothing says which one this is: {names}",
            hint=f"leave {SESSION_VARIABLE} as it was set for you",
        )
    return sessions.get(tx, chosen[0].id)


def _only_planned(known: Sequence[Agent]) -> list[Agent]:
    return [agent for agent in known if is_planned(agent.id)]


def _is_served_by(agent: Agent, above: Sequence[Process]) -> bool:
    return (agent.server_pid, agent.server_started) in {(one.pid, one.started) for one in above}


def _is_active(tx: Reader, agent: Agent) -> bool:
    return sessions.get(tx, agent.id).status == "active"


def _is_of_unplanned_agent(known: Sequence[Agent], environ: Mapping[str, str], above: Sequence[Process]) -> bool:
    """Whether the ancestor server runs the command for an agent without a plan, which it serves too."""
    named = environ.get(AGENT_VARIABLE, "").strip()
    return any(agent.id == named and not is_planned(agent.id) and _is_served_by(agent, above) for agent in known)
