"""Authenticates without a login: not at all, by a key, by a token in a file."""

import os
import re
import stat

from binnacle.errors import ConfigError, UpstreamLogin
from binnacle.upstream import upstream_steps
from binnacle.upstream.configuration.server_config import ServerConfig
from binnacle.upstream.redaction import Redactor

MAX_TOKEN_FILE_BYTES = 64 << 10
"""Bytes of a token file."""

SECRET_MOUNTS = ("/run/secrets/", "/var/run/secrets/", "/run/credentials/")
"""Where containers and services get their secrets: the person cannot set the modes of these files."""

_SENDABLE = re.compile(r"[\x21-\x7e\x80-\xff](?:[ \t\x21-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?")
_State = tuple[int, int, int, int]


class NoAuth:
    """Adds nothing to the configured headers."""

    def __init__(self, config: ServerConfig) -> None:
        self._config = config

    async def headers(self) -> dict[str, str]:
        return {}

    async def handle_challenge(self, status: int, www_authenticate: str) -> bool:  # noqa: ARG002
        if status == 401:
            raise UpstreamLogin(
                f"{self._config.name} does not accept the Authorization header it is configured with",
                hint=upstream_steps.sign_in(
                    self._config.name, words=f"renew it in {self._config.source}, or remove it and sign in"
                ),
            )
        return False

    def reconsider(self) -> None:
        pass

    async def aclose(self) -> None:
        return


class ApiKey:
    """A key that never changes, in a header."""

    def __init__(self, config: ServerConfig) -> None:
        """Raises ConfigError if the key cannot be sent in a header."""
        self._config = config
        where = f"auth.api_key of {config.name}"
        self._headers = {config.auth.header_name: header_value(config.auth.header_name, config.auth.api_key, where)}

    async def headers(self) -> dict[str, str]:
        return dict(self._headers)

    async def handle_challenge(self, status: int, www_authenticate: str) -> bool:  # noqa: ARG002
        if status == 401:
            raise UpstreamLogin(
                f"{self._config.name} does not accept its API key", hint=f"renew auth.api_key in {self._config.source}"
            )
        return False

    def reconsider(self) -> None:
        pass

    async def aclose(self) -> None:
        return


class TokenFile:
    """A token that another program keeps in a file, and may change at any time."""

    def __init__(self, config: ServerConfig, *, redactor: Redactor) -> None:
        """Raises ConfigError if the path is relative."""
        self._config = config
        self._path = os.path.expanduser(config.auth.token_path)
        if not os.path.isabs(self._path):
            raise self._wrong("is not named from the root", "let auth.token_path begin with / or ~/")
        self._redactor = redactor
        self._state: _State | None = None
        self._value = ""

    async def headers(self) -> dict[str, str]:
        self._read()
        return {self._config.auth.header_name: self._value}

    async def handle_challenge(self, status: int, www_authenticate: str) -> bool:  # noqa: ARG002
        if status != 401:
            return False
        before, self._state = self._value, None
        self._read()
        if self._value != before:
            return True
        raise UpstreamLogin(
            f"{self._config.name} does not accept the token in {self._path}", hint=f"renew the token in {self._path}"
        )

    def reconsider(self) -> None:
        pass

    async def aclose(self) -> None:
        return

    def _read(self) -> None:
        """Reads the file's token, if the file changed."""
        try:
            handle = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                found = os.fstat(handle)
                state = (found.st_mtime_ns, found.st_size, found.st_ino, found.st_mode)
                if state == self._state:
                    return
                self._check(found)
                data = os.read(handle, MAX_TOKEN_FILE_BYTES + 1)
            finally:
                os.close(handle)
        except OSError as error:
            raise self._wrong(f"cannot be read: {os.strerror(error.errno or 0)}", "check auth.token_path") from error
        try:
            token = data.decode().strip()
        except UnicodeDecodeError:
            raise self._wrong("is not text", "it must hold the token and nothing else") from None
        if not token or len(data) > MAX_TOKEN_FILE_BYTES:
            what = "is too long" if token else "is empty"
            raise self._wrong(what, "it must hold the token and nothing else")
        self._redactor.add("auth.token_path", token)
        self._value = header_value(self._config.auth.header_name, token, f"the token file {self._path}")
        self._state = state

    def _check(self, found: os.stat_result) -> None:
        if not stat.S_ISREG(found.st_mode):
            raise self._wrong("is not a file", "check auth.token_path")
        is_mounted = os.path.realpath(self._path).startswith(SECRET_MOUNTS)
        if found.st_mode & 0o077 and not is_mounted:
            mode = stat.S_IMODE(found.st_mode)
            raise self._wrong(f"is open to other users (mode {mode:04o})", f"chmod 600 {self._path}")

    def _wrong(self, what: str, hint: str) -> ConfigError:
        return ConfigError(f"the token file of {self._config.name} {what}: {self._path}", hint=hint)


def header_value(header: str, secret: str, where: str) -> str:
    """A secret as the value of a header. `Authorization` gets the scheme Bearer unless the secret names one.

    Raises:
        ConfigError: it cannot be sent in a header.
    """
    secret = secret.strip()
    if not _SENDABLE.fullmatch(secret):
        raise ConfigError(
            f"{where} holds what no header can carry", hint="it must be one line, without control characters"
        )
    return f"Bearer {secret}" if header.lower() == "authorization" and " " not in secret else secret
