"""What a short command must not load: start-up is a feature, and this is how it gets lost."""

import json
import subprocess
import sys

import pytest

HEAVY = {"asyncio", "dataclasses", "difflib", "hashlib", "http", "inspect", "json", "logging", "pathlib", "psycopg",
         "rich", "shutil", "socket", "ssl", "subprocess", "tempfile", "tomlkit", "tomllib", "unittest"}  # fmt: skip


def loaded_by(bn, *words: str, stdin: str = "") -> set[str]:
    """The modules in memory after a command."""
    code = (
        "import sys; sys.argv = ['bn', *sys.argv[1:]]\n"
        "from binnacle.cli.main import main\n"
        "code = main(sys.argv[1:])\n"
        "sys.stderr.write('\\n'.join(sys.modules)); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:0] = {_paths()!r}\n{code}", *words],
        cwd=bn.repo, env=bn.env, input=stdin, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return set(done.stderr.split())


def _paths() -> list[str]:
    import msgspec

    import binnacle

    return [str(next(iter(module.__path__)).rpartition("/")[0]) for module in (binnacle, msgspec)]


def test_the_version_needs_no_parser_and_no_store(bn):
    loaded = loaded_by(bn, "--version")
    assert not loaded & (HEAVY | {"argparse", "sqlite3", "msgspec", "binnacle.store"})


@pytest.mark.parametrize("words", [["ready"], ["next"], ["task", "list"], ["task", "add", "x"], []])
def test_daily_commands_load_nothing_heavy(bn, words):
    assert loaded_by(bn, *words) & (HEAVY | {"typing_extensions"}) == set()


def test_ready_builds_no_other_command(bn):
    loaded = {name for name in loaded_by(bn, "ready") if name.startswith("binnacle.cli.")}
    assert loaded <= {
        f"binnacle.cli.{name}"
        for name in (
            *("main", "command", "command_index", "context", "output", "paging", "parser", "screen"),
            *("commands", "commands.ready"),
        )
    }


def test_reading_tasks_loads_neither_features_nor_what_looks_at_processes(bn):
    bn("task", "add", "x")
    loaded = loaded_by(bn, "ready")
    assert "binnacle.store.features" not in loaded
    assert not {name for name in loaded if name.startswith(("ctypes", "binnacle.lifecycle", "binnacle.processes"))}


def test_a_server_loads_neither_plans_nor_tools_to_say_what_it_has(bn):
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    asked = [{"method": "initialize", "params": hello}, {"method": "tools/list", "params": {}}]
    stdin = "".join(json.dumps({"jsonrpc": "2.0", "id": number, **one}) + "\n" for number, one in enumerate(asked))
    first = loaded_by(bn, "mcp", "serve", stdin=stdin)
    assert "binnacle.plan.recipe" in first, "what it says is made once, and kept"
    later = {name for name in loaded_by(bn, "mcp", "serve", stdin=stdin) if name.startswith("binnacle.")}
    assert not {name for name in later if name.startswith(("binnacle.plan", "binnacle.tools.work", "binnacle.store"))}
    loaded = loaded_by(bn, "mcp", "serve", stdin=stdin)
    assert not loaded & {"yaml", "json", "ipaddress", "urllib.parse", "binnacle.upstream.configuration.server_loader"}
