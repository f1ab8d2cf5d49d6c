"""What a request to a server carries to say who we are, whatever that is made of."""

from typing import TYPE_CHECKING, Protocol, TypeAlias

from binnacle.upstream.config import ServerConfig
from binnacle.upstream.redact import Redactor

if TYPE_CHECKING:
    import aiohttp

    from binnacle.upstream.auth.secrets import SecretStore

HttpSession: TypeAlias = "aiohttp.ClientSession"


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


def authorizer(
    config: ServerConfig, *, secrets: "SecretStore", http: HttpSession, redactor: Redactor | None = None
) -> Authorizer:
    """How a server is told who we are. `redactor` hears of every secret that is used.

    Raises:
        ConfigError: a secret would travel in the open, or cannot be sent at all.
    """
    from binnacle.upstream.auth.addresses import check_private
    from binnacle.upstream.auth.oauth import OAuth
    from binnacle.upstream.auth.plain import ApiKey, NoAuth, TokenFile

    known = redactor or Redactor()
    known.learn(config)
    match config.auth.type:
        case "none":
            if any(name.lower() == "authorization" for name in config.headers):
                return NoAuth(config)
            return OAuth(config, secrets=secrets, http=http, redactor=known, is_asked_for=False)
        case "api_key":
            check_private(config)
            return ApiKey(config)
        case "token_file":
            check_private(config)
            return TokenFile(config, redactor=known)
        case "oauth":
            check_private(config)
            return OAuth(config, secrets=secrets, http=http, redactor=known)
