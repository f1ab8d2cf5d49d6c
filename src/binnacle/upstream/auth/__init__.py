"""Who we are to an upstream server.

authorizer             the protocol; `authorizer_factory` chooses one by the configuration
static_credentials     nothing, a key, or a token in a file
oauth_authorizer       a person's login: renewed once for all who use it (`grant`, `token_endpoint`)
login                  signs in and out: in the browser (`browser`, `callback_listener`) or by `device_flow`
provider_discovery     who issues tokens for a server (`challenge`, `client_registration`)
secret_store           where logins are kept: the keyring, or files
oauth_requests         requests to providers; `url_checks` decides which URLs are allowed
"""
