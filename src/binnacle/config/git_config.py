"""Reads git's configuration files, as far as Binnacle needs them, without running git.

Sections, subsections, keys and `include.path` are supported. Conditional includes and
values on several lines are not.
"""

import os
from collections.abc import Iterator

MAX_INCLUDES = 10
"""Maximum depth of includes."""


def read_origin(git_dir: str) -> str:
    """The address of the origin: server and path, without user and password; empty if there is none."""
    found = ""
    for section, key, value in _entries(os.path.join(git_dir, "config")):
        if (section, key) == ('remote "origin"', "url"):
            found = value
    return normalise_url(found)


def read_user(git_dir: str | None) -> tuple[str, str]:
    """`user.email` and `user.name` as git would find them; empty if they are not set."""
    found = {"email": "", "name": ""}
    for path in (*_global_files(), *([os.path.join(git_dir, "config")] if git_dir else [])):
        for section, key, value in _entries(path):
            if section == "user" and key in found:
                found[key] = value
    return found["email"], found["name"]


def normalise_url(url: str) -> str:
    """A normal form of a repository's address, the same for all ways to write it."""
    address = url.strip().rstrip("/").removesuffix(".git")
    scheme, has_scheme, rest = address.partition("://")
    if has_scheme and scheme != "file":
        host, _, path = rest.partition("/")
        return f"{_host_of(host).partition(':')[0]}/{path}"
    head, has_colon, path = address.partition(":")
    if has_colon and not has_scheme and "/" not in head:
        return f"{_host_of(head)}/{path.lstrip('/')}"
    return rest if has_scheme else address


def _host_of(authority: str) -> str:
    return authority.rpartition("@")[2].lower()


def _global_files() -> tuple[str, ...]:
    if (given := os.environ.get("GIT_CONFIG_GLOBAL")) is not None:
        return (given,)
    home = os.path.expanduser("~")
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    system = () if os.environ.get("GIT_CONFIG_NOSYSTEM") else ("/etc/gitconfig",)
    return (*system, os.path.join(config, "git", "config"), os.path.join(home, ".gitconfig"))


def _entries(path: str, *, depth: int = 0) -> Iterator[tuple[str, str, str]]:
    """Every section, key and value in a file, in order, including those of included files."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read().splitlines()
    except OSError:
        return
    section = ""
    for line in map(str.strip, lines):
        if line.startswith("["):
            name, _, subsection = line[1:].partition("]")[0].partition(" ")
            section = f"{name.lower()} {subsection.strip()}".strip()
            continue
        key, _, value = line.partition("=")
        key, value = key.strip().lower(), _unquote(value.strip())
        if (section, key) == ("include", "path") and depth < MAX_INCLUDES:
            included = os.path.join(os.path.dirname(path), os.path.expanduser(value))
            yield from _entries(included, depth=depth + 1)
        elif key and key[0] not in "#;":
            yield section, key, value


def _unquote(value: str) -> str:
    """A value without its quotes, escapes and comment."""
    out, is_quoted, rest = [], False, iter(value)
    for char in rest:
        if char == "\\":
            out.append(next(rest, ""))
        elif char == '"':
            is_quoted = not is_quoted
        elif char in "#;" and not is_quoted:
            break
        else:
            out.append(char)
    return "".join(out).strip()
