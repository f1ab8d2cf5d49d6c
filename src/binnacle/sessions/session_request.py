"""What a server is asked to serve. Light: a server knows it before it loads anything else."""

from typing import TYPE_CHECKING, NamedTuple

from binnacle.work.session import SessionTerms

if TYPE_CHECKING:
    from binnacle.plan.recipe import Recipe


class SessionRequest(NamedTuple):
    """A session that a server serves."""

    terms: SessionTerms = SessionTerms()
    id: str | None = None
    """Of the session in the store; None for a connection that nobody planned."""

    start: str | None = None
    """The folder in which its agent works, if that is not ours."""

    first: "Recipe | None" = None
    """The most that it may have, if that is known already."""
