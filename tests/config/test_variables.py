"""The variables that clients are told to pass on are those that the server reads."""

import re
from pathlib import Path

import binnacle
from binnacle.config.server_variables import SERVER_VARIABLES

NOT_FOR_THE_SERVER = {
    "BN_MCP_TOKEN": "of a server on HTTP, which no client starts",
    "BN_MCP_SESSION": "set by the server for what it starts",
    "BN_KEPT": "set by the server for the process that runs its commands",
    "BN_PORTABLE": "hides what only Linux has, for tests",
    "BN_SCRIPT": "set for scripts",
    "BN_WORKSPACE": "set for scripts",
    "BN_INPUT_": "set for scripts",
    "BN_INPUT_SOME_ID": "set for scripts",
    "BN_PAGER": "for what people read",
    "BN_OUTPUT": "how answers look to a person; the server sets it for the commands it runs",
    "BN_RUN_TIMEOUT": "a constant",
}
SETS = ("BN_RUN_", "BN_HOOK", "BN_TASK_", "BN_ITERATION", "BN_ERROR", "BN_ATTENTION_")
"""Of runs and their hooks."""


def test_every_variable_of_the_product_is_passed_on_or_not_for_the_server():
    sources = "".join(path.read_text() for path in Path(binnacle.__file__).parent.rglob("*.py"))
    read = set(re.findall(r"\bBN_[A-Z_]+", sources)) - {"BN_"}
    strange = {name for name in read if not name.startswith(SETS)} - set(SERVER_VARIABLES) - set(NOT_FOR_THE_SERVER)
    assert strange == set()


def test_none_looks_like_a_secret_which_gemini_would_withhold():
    secret = re.compile("TOKEN|SECRET|PASSWORD|PASSWD|KEY|AUTH|CREDENTIAL|CREDS|PRIVATE|CERT")
    assert [name for name in SERVER_VARIABLES if secret.search(name)] == []
