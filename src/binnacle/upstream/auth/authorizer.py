"""What a request to a server carries to say who we are, whatever that is made of."""

from typing import Protocol


class Authorizer(Protocol):
    """Says who we are to one server. May be asked by many requests at once."""

    async def headers(self) -> dict[str, str]:
        """What a request carries now. A login that is about to expire is renewed, once for all who ask.

        Raises:
            UpstreamLogin: a person has to sign in.
            UpstreamDown: the login has expired, and its provider cannot be reached now.
            ConfigError: a key or a token file is not as it should be.
        """

    async def challenged(self, status: int, www_authenticate: str) -> bool:
        """Hears that the server refused a request: whether something changed and it may be sent again, once.

        Asked in the task that asked for the headers of the request, so that it is known what was refused.

        Raises:
            UpstreamLogin: a person has to do something, and what.
            UpstreamDown: the login has to be renewed, and its provider cannot be reached now.
        """

    def reconsider(self) -> None:
        """Hears that logins were changed: somebody may have signed out."""

    async def aclose(self) -> None:
        """Waits until a renewal under way is kept, within a bound: half of it would lose the login."""
