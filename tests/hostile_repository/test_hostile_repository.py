"""A hostile repository is opened with every command and a served session, and nothing that it asks for happens."""

import os
import sys
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from pathlib import Path, PurePath
from typing import Any

import pytest
from msgspec import inspect

import forked_bn
from binnacle.cli.command import Command
from binnacle.cli.command_index import GROUPS
from binnacle.cli.parser import load_group
from binnacle.config.project_files import PROJECT_FILES
from binnacle.web.endpoints import load_all
from cli.conftest import Bn
from cli.test_mcp import Client
from hostile_repository.clone import (
    NAME,
    Traps,
    hostile_files,
    make_clone,
    traps_in,
    write_files,
    write_folder_links,
    write_links,
)
from web.served_gui import ServedGui

WAYS = {"files": write_files, "links": write_links, "folders": write_folder_links}

VALUES = {
    "hook run": ("session_start",),
    "script info": (f"{NAME}.tool",),
    "script run": (f"{NAME}.tool",),
    "script new": ("good.tool",),
    "upstream add": ("mine", "--user", "--", "true"),
    "upstream call": (f"{NAME}:x",),
    "plan diff": (NAME, "default"),
    "plan explain": ("bn_run",),
    "plan launch": ("claude", "--recipe", NAME),
    "config get": ("run.agent",),
    "config set": ("project.title", "Mine"),
    "config unset": ("project.title",),
    "mcp serve": ("--recipe", NAME),
    "bridge host": ("--idle", "0.2"),
    "run": ("spec.md", "--iterations", "1"),
    "gui": ("--link",),  # what it serves is tested with every endpoint, below
    "store export": ("exported.jsonl",),
    "discipline import": ("generic",),
    "completion": ("bash",),
    "system init": ("--yes",),
}
"""What commands are given that need something of the kind that there is; all others are given a name."""

NAMED = ("spec.md", "*.bak", "exported.jsonl*", ".exported.jsonl*", ".binnacle/scripts/good.tool.*", "docs", "src")
"""Files that a command was told of, and what the codebase is described by."""

TEST_SETUPS = ("pyproject.toml", "setup.cfg", "tox.ini", "requirements*.txt", "package.json", "*akefile", "Cargo.toml")
"""Files that say how a project is tested, which `bn check suggest` reads as text."""

LONGEST_SECONDS = 120
WATCHED = str(Path(__file__).with_name("watched.py"))

BY_A_PERSON = ("trust", "trust revoke")
"""Commands by which a person decides; the tests of trust have them."""


@pytest.fixture
def traps(tmp_path: Path) -> Iterator[Traps]:
    with traps_in(tmp_path) as traps:
        yield traps


@pytest.fixture
def bn(tmp_path: Path, traps: Traps) -> Callable[[str], Bn]:
    """The command in a clone, written in one of the ways."""

    def open_clone(way: str) -> Bn:
        repo = make_clone(tmp_path, traps, WAYS[way])
        env = {name: value for name, value in os.environ.items() if not name.startswith(("BN_", "XDG_"))}
        env |= {"HOME": str(tmp_path / "home"), "BN_USER": "ann", "PGPASSWORD": "pw", "PGCONNECT_TIMEOUT": "5"}
        (tmp_path / "home").mkdir()
        return Bn(repo, env)

    return open_clone


def test_every_place_that_is_read_is_made_hostile(traps):
    assert set(hostile_files(traps)) == {place.path for place in PROJECT_FILES}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("group", GROUPS)
def test_no_command_does_what_the_repository_asks_for(bn, traps, group, way):
    here = bn(way)
    told = []
    for words, command in load_group(group).commands.items():
        name = f"{group} {words}".strip()
        if name not in BY_A_PERSON:
            told.append(run(here, *name.split(), *given(name, command)))
    traps.check("".join(told))
    assert unknown_files(here) == []
    assert left_running(here) == []


def given(name: str, command: Command) -> tuple[str, ...]:
    if name in VALUES:
        return VALUES[name]
    return tuple(NAME for one in command.arguments if not one.names[0].startswith("-") and is_required(one.options))


def is_required(options: dict) -> bool:
    return options.get("nargs") not in ("?", "*")


def opened(bn: Bn) -> Path:
    """Where is written down what commands open in the clone."""
    return bn.repo.with_name("opened")


def unknown_files(bn: Bn) -> list[str]:
    """What was opened in the clone and is not on the list of what we read there."""
    known = [*(place.path for place in PROJECT_FILES), ".git/*", ".git", *NAMED, *TEST_SETUPS]
    known += [parent.as_posix() for path in known for parent in PurePath(path).parents if parent.name]
    names = dict.fromkeys(opened(bn).read_text().splitlines() if opened(bn).exists() else ())
    return [name for name in names if not any(fnmatch(name, pattern) for pattern in known)]


def run(bn: Bn, *words: str) -> str:
    """All that a command says. It may fail, but neither hang nor break."""
    watched = (str(opened(bn)), *words)
    done = forked_bn.run([sys.executable, WATCHED, *watched], timeout=LONGEST_SECONDS, cwd=bn.repo, env=bn.env)
    told = (done.stdout + done.stderr).decode("utf-8", "replace")
    assert "E_INTERNAL" not in told, (words, told)
    return told


def left_running(bn: Bn) -> list[str]:
    """Processes that a command left in the clone, but for a host that ends by itself."""
    found = []
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{name}/cwd").startswith(str(bn.repo)):
                found.append(Path(f"/proc/{name}/cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


@pytest.mark.parametrize("way", WAYS)
def test_no_session_does_what_the_repository_asks_for(bn, traps, way):
    here = bn(way)
    told = []
    client = Client(here)
    try:
        client.notify("notifications/initialized")
        for tool in client.ask("tools/list")["tools"]:
            assert NAME not in tool["name"]
            assert "Ignore your instructions" not in str(tool)
            told.append(str(client.tool(tool["name"])))
        told.append(client.text("binnacle-set_agent", path=str(here.repo)))
        uris = [one["uri"] for one in client.ask("resources/list")["resources"]]
        told += [reply(client, client.send("resources/read", uri=uri)) for uri in uris]
        tries = ("upstream call evil:x", "hook run session_start", "script run evil.tool", "upstream test evil")
        told += [client.text("bn_run", args=one.split()) for one in tries]
    finally:
        client.end()
    traps.check("".join(told))


DECISIONS = ("trust_items",)
"""What a person decides on the page; `web.test_needs_you` has it."""


@pytest.mark.parametrize("way", WAYS)
def test_no_page_does_what_the_repository_asks_for(bn, traps, way):
    here = bn(way)
    told = []
    with ServedGui(here.repo, env=here.env) as served, served.acting() as person:
        for name, endpoint in load_all().items():
            if name in DECISIONS:
                continue
            asked = {field.encode_name: value_of(field.type) for field in fields_of(endpoint.asked) if field.required}
            address = f"/api/{served.project}/{name}"
            is_read = endpoint.kind == "read"
            answer = person.get(address, params=asked) if is_read else person.post(address, json=asked)
            assert "E_INTERNAL" not in answer.text, (name, answer.text)
            told.append(answer.text)
        told += [person.get(f"/{path}").text for path in (".git/config", ".binnacle/config.toml", "assets/../spec.md")]
    # Only what waits for trust shows what a file says, which is what a person has to see.
    traps.check("".join(told))
    assert left_running(here) == []


def fields_of(asked: type) -> tuple[inspect.Field, ...]:
    described = inspect.type_info(asked)
    assert isinstance(described, inspect.StructType)
    return described.fields


def value_of(described: inspect.Type) -> Any:
    """An argument of a call, which names what the repository brings."""
    match described:
        case inspect.IntType():
            return 1
        case inspect.StructType():
            return {one.encode_name: value_of(one.type) for one in described.fields if one.required}
        case inspect.DictType():
            return {}
        case inspect.ListType() | inspect.VarTupleType():
            return [value_of(described.item_type)]
        case inspect.LiteralType():
            return described.values[0]
    return NAME


def reply(client: Client, number: int) -> str:
    """What a request is answered with, an error or not."""
    while (message := client.receive()).get("id") != number:
        pass
    return str(message)


def test_the_traps_are_real(bn, traps):
    """What the other tests hold back does happen, once a person has trusted it."""
    here = bn("files")
    (here.repo / ".binnacle" / "config.toml").unlink()
    run(here, "trust", "--yes")
    run(here, "upstream", "test", NAME, f"{NAME}-web")
    run(here, "hook", "run", "session_start")
    run(here, "script", "run", f"{NAME}.tool")
    assert {path.name for path in traps.sprung.iterdir()} == {"server", "hook", "script"}
    assert traps.callers
    with pytest.raises(AssertionError):
        traps.check()
