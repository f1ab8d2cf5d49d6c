"""The environment of each kind of process that we start: lists of variables, each with its reason.

| process | what it gets |
|---|---|
| upstream server | `PROGRAM`, `NETWORK`, and what its entry names |
| hook, script of the project, git | these, `DEVELOPMENT`, `BINNACLE`, and what the person names in `BN_PASS_ENV` |
| check | `PROGRAM` without the home, `NETWORK`, `TOOLS`: nothing of the person, no keys, nothing of ours |
| agent | the same as a hook, and the variables of the model provider that its client uses |
| debugged program, script host, browser | what a shell of the person has, without `OURS`: it is their program |
| `bn` for `bn_run` | all but the token of the server: it is the same program, and opens the same store |

Only the last has a password. A program that runs `bn` gets the address of the store without the password, so that
without a password it is refused, and never uses another store instead; `config.store_access` gives agents and hooks a
file with the password.
"""

import os
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from binnacle.config.clients.provider_variables import variables_of
from binnacle.config.server_variables import SERVER_VARIABLES

Environ = Mapping[str, str]


class VariableNames(NamedTuple):
    """A group of variables."""

    exact: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()

    def has(self, name: str) -> bool:
        return name in self.exact or name.startswith(self.prefixes)


def _names(text: str) -> VariableNames:
    """The names in a list; one that ends in `*` is a prefix."""
    words = text.split()
    return VariableNames(
        frozenset(word for word in words if not word.endswith("*")),
        tuple(word.removesuffix("*") for word in words if word.endswith("*")),
    )


PROGRAM = _names("HOME LANG LANGUAGE LC_* LOGNAME PATH SHELL TERM TMPDIR TZ USER XDG_*")
"""What every program needs: paths, the user, and the language."""

NETWORK = _names(
    "HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY http_proxy https_proxy no_proxy all_proxy"
    " SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE"
)
"""How to reach the network: proxies and certificates."""

DEVELOPMENT = _names(
    # languages and their tools
    "PYTHON* VIRTUAL_ENV CONDA_* PYENV_* NODE_OPTIONS NODE_PATH NODE_ENV NVM_* FNM_* VOLTA_HOME PNPM_HOME BUN_INSTALL"
    " DENO_DIR NPM_CONFIG_PREFIX NPM_CONFIG_CACHE npm_config_prefix npm_config_cache COREPACK_HOME"
    " CARGO_HOME CARGO_TARGET_DIR RUSTUP_HOME RUSTUP_TOOLCHAIN RUSTFLAGS RUST_BACKTRACE RUST_LOG"
    " GOPATH GOROOT GOBIN GOCACHE GOMODCACHE GOFLAGS GOPROXY GOTOOLCHAIN CGO_ENABLED"
    " JAVA_HOME JDK_HOME MAVEN_HOME M2_HOME GRADLE_HOME GRADLE_USER_HOME ANDROID_HOME ANDROID_SDK_ROOT KOTLIN_HOME"
    " DOTNET_* GEM_HOME GEM_PATH BUNDLE_PATH RBENV_* ASDF_* MISE_DATA_DIR MISE_CONFIG_DIR SDKMAN_DIR HOMEBREW_PREFIX"
    " UV_CACHE_DIR UV_PYTHON PIP_CACHE_DIR PIPX_HOME POETRY_HOME"
    # compilers and libraries
    " CC CXX CPP CFLAGS CXXFLAGS CPPFLAGS LDFLAGS LIBRARY_PATH LD_LIBRARY_PATH DYLD_LIBRARY_PATH"
    " DYLD_FALLBACK_LIBRARY_PATH PKG_CONFIG_PATH CMAKE_PREFIX_PATH MAKEFLAGS LOCALE_ARCHIVE"
    " NIX_PATH NIX_PROFILES NIX_SSL_CERT_FILE"
    # git, agents for SSH and GPG keys, containers
    " GIT_AUTHOR_* GIT_COMMITTER_* GIT_SSH GIT_SSH_COMMAND GIT_ASKPASS GIT_TERMINAL_PROMPT GIT_EXEC_PATH"
    " GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_CONFIG_NOSYSTEM EMAIL"
    " SSH_AUTH_SOCK SSH_AGENT_PID SSH_ASKPASS GPG_TTY GPG_AGENT_INFO GNUPGHOME DOCKER_HOST DOCKER_CONTEXT DOCKER_CONFIG"
    " KUBECONFIG"
    # the terminal and the desktop
    " COLORTERM TERM_PROGRAM TERM_PROGRAM_VERSION NO_COLOR FORCE_COLOR CLICOLOR COLUMNS LINES EDITOR VISUAL PAGER"
    " DISPLAY WAYLAND_DISPLAY XAUTHORITY DBUS_SESSION_BUS_ADDRESS SSH_CONNECTION SSH_TTY"
    " WSL_DISTRO_NAME WSL_INTEROP WSLENV HOSTNAME CI __CF_USER_TEXT_ENCODING"
)
"""Paths and settings of a developer's tools: no keys, no tokens, no addresses with passwords."""

TOOLS = _names(
    "PYTHONUTF8 PYTHONIOENCODING PYTHONHASHSEED VIRTUAL_ENV CONDA_* PYENV_* NODE_ENV NVM_* FNM_* VOLTA_HOME PNPM_HOME"
    " BUN_INSTALL COREPACK_HOME RUSTUP_HOME RUSTUP_TOOLCHAIN RUSTFLAGS RUST_BACKTRACE GOROOT GOFLAGS GOPROXY GOMODCACHE"
    " GOTOOLCHAIN CGO_ENABLED JAVA_HOME JDK_HOME MAVEN_HOME GRADLE_HOME ANDROID_HOME ANDROID_SDK_ROOT DOTNET_ROOT"
    " GEM_HOME GEM_PATH RBENV_* ASDF_* MISE_DATA_DIR SDKMAN_DIR HOMEBREW_PREFIX UV_PYTHON UV_CACHE_DIR"
    " UV_OFFLINE PIP_CACHE_DIR npm_config_cache NPM_CONFIG_CACHE CC CXX CPP CFLAGS CXXFLAGS CPPFLAGS"
    " LDFLAGS LIBRARY_PATH LD_LIBRARY_PATH DYLD_LIBRARY_PATH DYLD_FALLBACK_LIBRARY_PATH PKG_CONFIG_PATH"
    " CMAKE_PREFIX_PATH LOCALE_ARCHIVE NIX_PATH NIX_PROFILES NIX_SSL_CERT_FILE"
)
"""Where the tools of a developer are. Unlike `DEVELOPMENT`, nothing by which a program reaches keys, a desktop, the
person's files or another repository, and nothing that a terminal, make or an editor left behind."""

OF_PERSON = _names("HOME XDG_* TMPDIR SHELL TERM")
"""What of `PROGRAM` is the person's own."""

TOOLS_IN_HOME = {
    "PYENV_ROOT": ".pyenv",
    "RUSTUP_HOME": ".rustup",
    "NVM_DIR": ".nvm",
    "VOLTA_HOME": ".volta",
    "RBENV_ROOT": ".rbenv",
    "ASDF_DATA_DIR": ".asdf",
    "SDKMAN_DIR": ".sdkman",
    "MISE_DATA_DIR": ".local/share/mise",
}
"""Where tools that are installed in a home look for themselves by default. They hold programs, no keys."""

OURS = _names("BN_MCP_TOKEN BN_SESSION BN_AGENT_ID BN_MCP_SESSION BN_STORE_URL PGPASSWORD")
"""Proofs of identity, and access to the store: other programs do not get them."""

DATABASE = _names(
    "PGHOST PGHOSTADDR PGPORT PGUSER PGDATABASE PGSERVICE PGSERVICEFILE PGPASSFILE PGSSLMODE PGSSLROOTCERT PGSSLCERT"
    " PGSSLKEY PGCHANNELBINDING PGTARGETSESSIONATTRS"
)
"""How libpq finds the store's database. PGPASSFILE is the name of a file, not its content."""

BINNACLE = VariableNames((frozenset(SERVER_VARIABLES) | DATABASE.exact | {"BN_PORTABLE"}) - OURS.exact)
"""Where `bn` finds the project's work; and whether portable mode is on, which must be the same for all."""

STORE_URL = "BN_STORE_URL"
PASSED_ON = "BN_PASS_ENV"
"""Names of further variables for hooks, scripts and agents, separated by commas."""

_PASSWORD = re.compile(r"(?<=://)([^/?#@]*?):[^/?#@]*(?=@)")
_IN_QUERY = re.compile(r"(?<=[?&])(?:ssl)?password=[^&#]*&?")


def for_upstream(environ: Environ, given: Environ) -> dict[str, str]:
    """For an upstream server; `given` is what its entry names."""
    return _pick(environ, PROGRAM, NETWORK) | dict(given)


def for_command(environ: Environ) -> dict[str, str]:
    """For `bn` itself, when a client calls a command."""
    return {name: value for name, value in environ.items() if name != "BN_MCP_TOKEN"}


def for_helper(environ: Environ) -> dict[str, str]:
    """For a process of ours that starts others and opens no store."""
    return {name: value for name, value in environ.items() if not OURS.has(name)}


def for_person(environ: Environ) -> dict[str, str]:
    """For a program of the person, as if they had started it: a debugged program, a browser."""
    return for_helper(environ)


def for_development(environ: Environ) -> dict[str, str]:
    """For programs that work on the project: a hook, a script of the project, git."""
    return _add_store_url(environ, _pick(environ, PROGRAM, NETWORK, DEVELOPMENT, BINNACLE, _list_passed_on(environ)))


def for_check(environ: Environ) -> dict[str, str]:
    """For a check, which runs the code under test. The caller adds a home of its own."""
    home = environ.get("HOME", "")
    installed = {
        name: place
        for name, folder in TOOLS_IN_HOME.items()
        if name not in environ and home and os.path.isdir(place := os.path.join(home, folder))
    }
    kept = {name: value for name, value in _pick(environ, PROGRAM, NETWORK, TOOLS).items() if not OF_PERSON.has(name)}
    return {**kept, **installed, "CI": "true", "PYTHONDONTWRITEBYTECODE": "1", "TERM": "dumb", "NO_COLOR": "1"}


def for_agent(environ: Environ, client: str, *, also: Iterable[str] = ()) -> dict[str, str]:
    """For an agent that a person starts; `client` is its name, `also` are variables that its servers name."""
    provider = VariableNames(prefixes=variables_of(client))
    named = VariableNames(frozenset(also) - OURS.exact)
    return for_development(environ) | _pick(environ, provider, named)


def without_password(url: str) -> str:
    """An address of a database without its password."""
    return _IN_QUERY.sub("", _PASSWORD.sub(r"\1", url)).rstrip("?&")


def _pick(environ: Environ, *groups: VariableNames) -> dict[str, str]:
    return {name: value for name, value in environ.items() if any(group.has(name) for group in groups)}


def _list_passed_on(environ: Environ) -> VariableNames:
    return VariableNames(frozenset(filter(None, map(str.strip, environ.get(PASSED_ON, "").split(",")))) - OURS.exact)


def _add_store_url(environ: Environ, picked: dict[str, str]) -> dict[str, str]:
    """Adds the address of the store, if the environment has it."""
    return picked | ({STORE_URL: without_password(environ[STORE_URL])} if environ.get(STORE_URL) else {})
