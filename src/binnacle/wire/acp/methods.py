"""Names of the methods, and codes of errors."""

VERSION = 1
AUTH_REQUIRED = -32000
RESOURCE_NOT_FOUND = -32002
REQUEST_CANCELLED = -32800
INITIALIZE = "initialize"
AUTHENTICATE = "authenticate"
NEW = "session/new"
LOAD = "session/load"
RESUME = "session/resume"
SET_MODE = "session/set_mode"
SET_MODEL = "session/set_model"
SET_OPTION = "session/set_config_option"
PROMPT = "session/prompt"
CANCEL = "session/cancel"
CLOSE = "session/close"
UPDATE = "session/update"
REQUEST_PERMISSION = "session/request_permission"
