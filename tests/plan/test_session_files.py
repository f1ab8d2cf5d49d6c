"""The files of a session: all or none of them, and what was changed by hand is noticed."""

import json
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from binnacle.config.trust import keep
from binnacle.errors import ConfigError, Refused
from binnacle.plan import session_files
from binnacle.plan.session_files import is_kept, paths, read, write
from binnacle.plan.session_plan import PLAN_FORMAT_VERSION, SessionPlan, SessionSubject, plan
from binnacle.upstream.configuration.server_config import ConfigSource
from binnacle.upstream.configuration.server_trust import trust_item
from plan.loaded import a_discipline, everything
from plan.test_shipped_recipes import the_catalog, the_recipe

NAMES = ("context.json", "prompt.md", "mcp.json", "checks.json")

WRITER = """
import os, signal, sys
from binnacle.plan import session_files
from plan.test_session_files import planned

moves, when = 0, int(sys.argv[2])

def dying(move):
    def moved(*places):
        global moves
        if moves == when:
            os.kill(os.getpid(), signal.SIGKILL)
        moves += 1
        move(*places)
    return moved

for name in ("rename", "replace", "rmdir", "fsync"):
    setattr(session_files.os, name, dying(getattr(os, name)))
session_files.write(sys.argv[1], planned("loop"), cwd="/repo")
print(moves)
"""
"""Writes another plan, and is killed before one of its steps."""


def planned(recipe: str = "task", **fields) -> SessionPlan:
    about = SessionSubject(discipline=a_discipline(denied_tools=("search_tasks",), **fields))
    return plan(the_recipe(recipe), the_catalog(), about, everything(), session="bns-0001")


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path / "data" / "sessions" / "bns-0001"


def content(folder: Path) -> dict[str, str]:
    return {name: (folder / name).read_text() for name in NAMES}


def recipe_in(folder: Path) -> str:
    kept = read(str(folder))
    assert kept is not None
    return kept.recipe


@pytest.fixture
def trusting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Any]], None]:
    """Trusts servers of a discipline."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def trust(servers: dict[str, Any]) -> None:
        items = [trust_item(name, data, ConfigSource("discipline")) for name, data in servers.items()]
        keep("/repo", items, by="ann", at="", how="terminal")

    return trust


def test_what_is_written(folder, trusting):
    trusting(servers := {"docs": {"url": "https://docs.example.com/mcp"}})
    made = planned("enrich", upstreams=servers)
    kept = write(str(folder), made, cwd="/repo")
    assert kept == paths(str(folder))
    context = json.loads(Path(kept.context).read_text())
    assert context == {
        "session": "bns-0001",
        "recipe": "enrich",
        "discipline": "frontend",
        "input": made.input,
        "enabled_tools": [tool.name for tool in made.tools],
        "disabled_tools": list(made.disabled),
        "tokens": {"prompt": made.prompt.tokens, "tools": made.tool_tokens},
        "catalog": made.catalog,
        "schema": PLAN_FORMAT_VERSION,
        "limits": json.loads(msgspec.json.encode(made.limits)),
    }
    assert "task_search" in context["disabled_tools"]
    assert not {"search_tasks", "task_search"} & set(context["enabled_tools"])
    assert Path(kept.prompt).read_text() == made.prompt.text
    servers = json.loads(Path(kept.config).read_text())["mcpServers"]
    assert servers["docs"] == {"url": "https://docs.example.com/mcp"}
    ours = servers["bns"]
    assert ours["args"] == ["-C", "/repo", "mcp", "serve", "--session", "bns-0001"]
    assert os.access(ours["command"], os.X_OK)
    assert json.loads(msgspec.json.encode(read(str(folder)))) == context


def test_no_server_of_a_discipline_takes_the_place_of_ours(folder, trusting):
    servers = {"docs": {"url": "https://docs.example.com/mcp"}, "bns": {"url": "https://evil"}}
    trusting(servers)
    made = planned("enrich", upstreams=servers)
    config = json.loads(Path(write(str(folder), made, cwd="/repo").config).read_text())["mcpServers"]
    assert list(config) == ["bns2", "docs", "bns"]
    assert config["bns2"]["args"][-2:] == ["--session", "bns-0001"]


def test_only_their_owner_may_look(folder):
    write(str(folder), planned(), cwd="/repo")
    for place in (folder, folder.parent):
        assert stat.S_IMODE(place.stat().st_mode) == 0o700


def test_what_else_is_there_stays(folder):
    write(str(folder), planned(), cwd="/repo")
    transcript, more = folder / "transcript.jsonl", folder / "more"
    more.mkdir()
    with transcript.open("w") as log:
        log.write("1\n")
        write(str(folder), planned("loop"), cwd="/repo")
        log.write("2\n")
    assert transcript.read_text() == "1\n2\n", "whoever writes to it meanwhile goes on doing so"
    assert more.is_dir()
    assert recipe_in(folder) == "loop"
    assert sorted(entry.name for entry in folder.iterdir()) == sorted([*NAMES, "more", "transcript.jsonl"])


class TestWritersThatEnd:
    """A write of the new plan over the old one, ended before each of its steps."""

    def write_and_die(self, folder: Path, step: int) -> subprocess.CompletedProcess[str]:
        tests = str(Path(__file__).parent.parent)
        env = {**os.environ, "PYTHONPATH": tests}
        command = [sys.executable, "-c", WRITER, str(folder), str(step)]
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)

    def test_killed_at_any_step_it_leaves_the_old_files_or_the_new_ones(self, folder, tmp_path):
        whole = tmp_path / "whole" / "bns-0001"
        steps = int(self.write_and_die(whole, -1).stdout)
        assert steps >= 10
        write(str(folder), planned(), cwd="/repo")
        old, new, seen = content(folder), content(whole), []
        for step in range(steps):
            write(str(folder), planned(), cwd="/repo")
            died = self.write_and_die(folder, step)
            assert died.returncode == -signal.SIGKILL, died.stderr
            seen.append(recipe_in(folder))
            assert content(folder) == (old if seen[-1] == "task" else new)
        assert seen == sorted(seen, reverse=True), "there is one moment from which on the new ones count"
        assert set(seen) == {"loop", "task"}

    @pytest.mark.parametrize("name", ["rename", "replace", "rmdir", "fsync", "mkdir"])
    def test_a_step_that_fails_is_said_and_leaves_the_old_or_the_new(self, folder, monkeypatch, name):
        write(str(folder), planned(), cwd="/repo")

        def fails(*places, **options):
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(session_files.os, name, fails)
            if name == "mkdir":
                patch.setattr(session_files.os, "makedirs", lambda *_, **__: None)
            with pytest.raises(ConfigError, match="No space left") as caught:
                write(str(folder), planned("loop"), cwd="/repo")
        assert "space" in caught.value.hint
        assert recipe_in(folder) in {"loop", "task"}
        write(str(folder), planned("loop"), cwd="/repo")
        assert sorted(entry.name for entry in folder.iterdir()) == sorted(NAMES), "nothing is left over"

    def test_killed_at_the_first_write_it_leaves_nothing_that_counts(self, folder):
        died = self.write_and_die(folder, 0)
        assert died.returncode == -signal.SIGKILL
        assert folder.is_dir()
        assert not is_kept(str(folder))
        write(str(folder), planned(), cwd="/repo")
        assert sorted(entry.name for entry in folder.iterdir()) == sorted(NAMES)


def test_writers_at_the_same_time_do_not_mix(folder):
    plans = [planned(), planned("loop"), planned("chat")]
    threads = [threading.Thread(target=write, args=(str(folder), made), kwargs={"cwd": "/repo"}) for made in plans * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()
    kept = recipe_in(folder)
    assert (folder / "prompt.md").read_text() == next(made.prompt.text for made in plans if made.recipe == kept)


class TestEdited:
    @pytest.fixture
    def kept(self, folder) -> Path:
        write(str(folder), planned(), cwd="/repo")
        return folder

    def refused(self, folder: Path) -> Refused:
        with pytest.raises(Refused) as caught:
            read(str(folder))
        assert "bn plan renew bns-0001" in caught.value.hint
        return caught.value

    @pytest.mark.parametrize("name", ["context.json", "prompt.md", "mcp.json"])
    def test_a_changed_line_is_named(self, kept, name):
        file = kept / name
        lines = file.read_text().split("\n")
        lines[2] = "  MINE"
        file.write_text("\n".join(lines))
        error = self.refused(kept)
        assert error.message == f"the plan was edited: {file} line 3 was changed: 'MINE'"
        assert error.details == {"file": str(file)}

    def test_an_added_line_is_named(self, kept):
        file = kept / "context.json"
        text = file.read_text()
        file.write_text(text.replace("{", '{\n  "enabled_tools": ["task_delete"],', 1))
        assert 'line 2 was changed: \'"enabled_tools": ["task_delete"],\'' in self.refused(kept).message

    def test_lines_added_at_the_end_are_named(self, kept):
        file = kept / "prompt.md"
        before = file.read_text()
        file.write_text(f"{before}one\ntwo\n")
        last = before.count("\n") + 1
        assert f"line {last} was changed: 'one'" in self.refused(kept).message

    def test_lines_taken_from_the_end_are_noticed(self, kept):
        file = kept / "prompt.md"
        lines = file.read_text().split("\n")
        file.write_text("\n".join(lines[:-3]))
        assert f"has {len(lines) - 3} lines; {len(lines)} were written" in self.refused(kept).message

    def test_other_line_ends_are_noticed(self, kept):
        file = kept / "prompt.md"
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
        assert "line 1 was changed" in self.refused(kept).message

    @pytest.mark.parametrize("name", NAMES)
    def test_a_missing_file_is_named(self, kept, name):
        (kept / name).unlink()
        assert is_kept(str(kept))
        message = self.refused(kept).message
        assert str(kept / name) in message
        assert "No such file" in message

    @pytest.mark.parametrize(
        "sums", [b"", b"{}", b"[]", b'{"prompt.md": []}', b'{"prompt.md": ["x"]}', b'{"\xff": []}']
    )
    def test_check_sums_that_were_changed_hide_nothing(self, kept, sums):
        (kept / "checks.json").write_bytes(sums)
        self.refused(kept)

    def test_where_nothing_is_left_nothing_is_kept(self, kept):
        for name in NAMES:
            (kept / name).unlink()
        assert not is_kept(str(kept))


@pytest.mark.parametrize("change", [{"schema": PLAN_FORMAT_VERSION + 1}, {"enabled_tools": "all"}])
def test_what_another_version_wrote_is_not_taken_for_an_edit(folder, change, monkeypatch):
    made = planned()
    known = session_files._json
    monkeypatch.setattr(
        session_files,
        "_json",
        lambda value: known(value if isinstance(value, dict) else msgspec.to_builtins(value) | change),
    )
    write(str(folder), made, cwd="/repo")
    assert read(str(folder)) is None


def test_text_with_odd_line_ends_is_found_as_it_was_written(folder):
    odd = "a\rb\r\nc\x0bd\x0ce\u2028f\x85g"
    loaded = msgspec.structs.replace(everything(), user_input=odd, run=None)
    made = plan(the_recipe("task"), the_catalog(), SessionSubject(), loaded, session="bns-0001")
    assert odd in made.prompt.text
    write(str(folder), made, cwd="/repo")
    assert (folder / "prompt.md").read_bytes() == made.prompt.text.encode()
    assert recipe_in(folder) == "task"
