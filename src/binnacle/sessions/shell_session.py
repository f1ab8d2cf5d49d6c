"""The session of a command: whose shell it runs in."""

import os
from contextlib import nullcontext

from binnacle.project.project import Project, current_person
from binnacle.project.store_opening import open_store
from binnacle.store.store import Store
from binnacle.tools.agent_identity import find_in_shell
from binnacle.work.actor import Actor
from binnacle.work.session import Agent, Proof, Session, is_planned


def find_session(project: Project, store: Store | None = None) -> Session:
    """The session of this command: that of the agent in whose shell it runs, or of the person at the keyboard.

    `store` is used if it is already open.

    Raises:
        NotFound: BN_AGENT_ID names an agent that is unknown or has ended.
        NotReady: BN_SESSION is not the secret of an active session.
        Refused: the ancestor process is several agents, and nothing says which of them this is.
    """

    with (
        nullcontext(store) if store and not store.is_busy else open_store(project, create=False) as opened,
        opened.read() as tx,
    ):
        agent = find_in_shell(tx, os.environ)
    if agent is None:
        return Session(actor=Actor(current_person(project)), repo=project.repo, cwd=os.getcwd())
    return Session(
        id=_session_of(agent),
        actor=Actor(agent.id, "agent"),
        repo=project.repo,
        cwd=os.getcwd(),
        proof=_proof(),
    )


def _session_of(agent: Agent) -> str | None:
    """The session that an agent's changes belong to."""
    return agent.id if is_planned(agent.id) else os.environ.get("BN_MCP_SESSION") or agent.session


def _proof() -> Proof:
    if os.environ.get("BN_SESSION"):
        return "secret"
    return "variable" if os.environ.get("BN_AGENT_ID") else "process"
