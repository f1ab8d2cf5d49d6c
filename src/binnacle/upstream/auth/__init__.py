"""Who we are to an upstream server: keys, token files, and OAuth with a person's login."""

from binnacle.upstream.auth.authorizer import Authorizer, authorizer
from binnacle.upstream.auth.secrets import FileSecrets, SecretStore, open_secrets

__all__ = ["Authorizer", "FileSecrets", "SecretStore", "authorizer", "open_secrets"]
