"""The session that a server is to serve. Light, because a server needs it before it loads anything else."""

from typing import TYPE_CHECKING, NamedTuple

from binnacle.work.session import SessionTerms

if TYPE_CHECKING:
    from binnacle.plan.recipe import Recipe


class SessionRequest(NamedTuple):
    """A session that a server serves."""

    terms: SessionTerms = SessionTerms()
    id: str | None = None
    """Id of the session in the store; None if it was not planned."""

    start: str | None = None
    """The folder in which its agent works, if it is not the server's."""

    first: "Recipe | None" = None
    """The limits of the session, if already known."""
