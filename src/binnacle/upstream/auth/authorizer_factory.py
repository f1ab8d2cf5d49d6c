"""Chooses how requests to a server are authenticated, by its configuration."""

from binnacle.upstream.auth.authorizer import Authorizer
from binnacle.upstream.auth.oauth_authorizer import OAuth
from binnacle.upstream.auth.secret_store import SecretStore
from binnacle.upstream.auth.static_credentials import ApiKey, NoAuth, TokenFile
from binnacle.upstream.auth.url_checks import check_private
from binnacle.upstream.configuration.server_config import ServerConfig
from binnacle.upstream.redaction import Redactor
from binnacle.upstream.transports.http_session import HttpSession


def make_authorizer(
    config: ServerConfig, *, secrets: SecretStore, http: HttpSession, redactor: Redactor | None = None
) -> Authorizer:
    """The authorizer of a server. `redactor` gets every secret that is used.

    Raises:
        ConfigError: a secret would be sent unencrypted, or cannot be sent at all.
    """

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
