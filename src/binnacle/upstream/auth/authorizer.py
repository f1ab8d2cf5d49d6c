"""The protocol of everything that authenticates requests to a server."""

from typing import Protocol


class Authorizer(Protocol):
    """Authenticates requests to one server. Many requests may use it at once."""

    async def headers(self) -> dict[str, str]:
        """The headers of a request. Renews a login that is about to expire, once for all callers.

        Raises:
            UpstreamLogin: a person has to sign in.
            UpstreamDown: the login has expired, and its provider cannot be reached now.
            ConfigError: a key or a token file is not as it should be.
        """

    async def handle_challenge(self, status: int, www_authenticate: str) -> bool:
        """Handles a refusal. Returns whether something changed, so that the request may be sent again, once.

        Call it in the task that called `headers` for the request, so that it knows what was refused.

        Raises:
            UpstreamLogin: a person has to do something, and what.
            UpstreamDown: the login has to be renewed, and its provider cannot be reached now.
        """

    def reconsider(self) -> None:
        """Looks at the logins again: somebody may have signed out."""

    async def aclose(self) -> None:
        """Waits, within a bound, until a renewal under way is saved: half of it would lose the login."""
