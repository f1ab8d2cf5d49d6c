"""The named tokens by which clients of the HTTP server are known."""

from collections.abc import Mapping

from binnacle.project.project import Project
from binnacle.server.bearer_tokens import NamedTokens, SavedToken


def list_tokens(project: Project) -> Mapping[str, SavedToken]:
    """The tokens by name, without their secrets."""
    return NamedTokens(project.data_dir).all()


def add_token(project: Project, name: str) -> str:
    """Makes a token of this name, and returns it; only its digest is kept.

    Raises:
        Duplicate: the name has one.
    """
    return NamedTokens(project.data_dir).add(name)


def revoke_token(project: Project, name: str) -> None:
    """Makes the token of this name void.

    Raises:
        NotFound: there is none.
    """
    NamedTokens(project.data_dir).revoke(name)
