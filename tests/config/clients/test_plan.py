"""Files are changed whole or not at all, with a backup, and come back as they were."""

import os
import stat
import subprocess
import sys
import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from binnacle.config.clients.agents_section import SECTION
from binnacle.config.clients.known_clients import CLIENTS
from binnacle.config.clients.setup_plan import agents_target, carry_out, client_target, plan
from config.clients import test_toml, test_yaml
from config.clients.documents import TRIVIA, documents, plain

VSCODE = CLIENTS["vscode"]
OTHER = b'{\n  "servers": {}\n}\n'


def set_up(path, *, client: str = "vscode", remove: bool = False):
    return carry_out(plan(client_target(CLIENTS[client], str(path)), remove=remove))


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "mcp.json"
    file.write_bytes(OTHER)
    return file


def names(path) -> list[str]:
    return sorted(os.listdir(path.parent))


def test_a_plan_changes_nothing(path):
    change = plan(client_target(VSCODE, str(path)), remove=False)
    assert (change.action, change.before) == ("updated", OTHER.decode())
    assert path.read_bytes() == OTHER
    assert names(path) == ["mcp.json"]
    new = path.parent / "new" / "mcp.json"
    assert plan(client_target(VSCODE, str(new)), remove=False).action == "created"
    assert not new.parent.exists()


def test_a_change_leaves_a_backup_and_a_second_run_nothing(path):
    change = set_up(path)
    assert change.backup == f"{path}.bak"
    assert (path.parent / "mcp.json.bak").read_bytes() == OTHER
    written = path.stat().st_mtime_ns, path.read_bytes()
    assert set_up(path).action == "unchanged"
    assert (path.stat().st_mtime_ns, path.read_bytes()) == written
    assert names(path) == ["mcp.json", "mcp.json.bak"]


def test_no_backup_is_overwritten_and_none_is_made_twice(path):
    (path.parent / "mcp.json.bak").write_bytes(b"someone else's \xff")
    (path.parent / "mcp.json.bak.1").mkdir()
    for _ in range(3):
        assert set_up(path).backup == f"{path}.bak.2"
        assert set_up(path, remove=True).backup == f"{path}.bak.3"
        assert path.read_bytes() == OTHER
    assert (path.parent / "mcp.json.bak").read_bytes() == b"someone else's \xff"
    assert names(path) == ["mcp.json", *(f"mcp.json.bak{end}" for end in ("", ".1", ".2", ".3"))]


def test_a_backup_that_says_more_than_the_file_is_not_taken_for_its_origin(path):
    set_up(path)
    path.write_text(path.read_text().replace('"servers": {', '"servers": {\n    "mine": {"command": "x"},'))
    assert set_up(path, remove=True).action == "removed"
    assert plain(path.read_text()) == {"servers": {"mine": {"command": "x"}}}


def test_an_entry_that_was_mended_is_still_taken_out_whole(path):
    path.write_text('{"servers": {"binnacle": {"command": "old"}, "x": {}}}')
    assert set_up(path).action == "updated"
    assert set_up(path, remove=True).action == "removed"
    assert plain(path.read_text()) == {"servers": {"x": {}}}


def test_permissions_are_kept_by_file_and_backup(path):
    path.chmod(0o600)
    set_up(path)
    for name in ("mcp.json", "mcp.json.bak"):
        assert stat.S_IMODE((path.parent / name).stat().st_mode) == 0o600


def test_a_link_is_written_through(path, tmp_path):
    (tmp_path / "home").mkdir()
    link = tmp_path / "home" / "linked.json"
    link.symlink_to("../mcp.json")
    assert set_up(link).backup == f"{link}.bak"
    assert link.is_symlink()
    assert "binnacle" in path.read_text()
    set_up(link, remove=True)
    assert link.is_symlink()
    assert path.read_bytes() == OTHER


def test_a_link_to_nothing_gets_its_file_and_loses_it_again(tmp_path):
    link = tmp_path / "mcp.json"
    link.symlink_to("below/real.json")
    assert set_up(link).action == "created"
    assert "binnacle" in (tmp_path / "below" / "real.json").read_text()
    assert set_up(link, remove=True).action == "removed"
    assert link.is_symlink()
    assert not link.exists()


@pytest.mark.parametrize(
    ("client", "content"),
    [
        ("vscode", b'{"servers": }'),
        ("vscode", b'{"servers": []}'),
        ("vscode", b'{"binnacle": "\xff"}'),
        ("codex", b"[mcp_servers\n"),
        ("goose", b"extensions: [\n"),
        ("goose", b"extensions:\n"),
    ],
)
def test_a_file_that_cannot_be_read_is_left_as_it_is(client, content, path):
    path.write_bytes(content)
    for remove in (False, True):
        change = set_up(path, client=client, remove=remove)
        if not remove or b"binnacle" in content:
            assert change.action == "skipped"
            assert change.error.code == "E_CONFIG"
            assert str(path) in change.error.message
            assert change.error.details["file"] == str(path)
            assert change.error.hint
        else:  # what does not say binnacle holds nothing of ours, readable or not
            assert change.action == "unchanged"
    assert path.read_bytes() == content
    assert names(path) == ["mcp.json"]


def test_a_directory_in_the_way_is_said(tmp_path):
    (tmp_path / "mcp.json").mkdir()
    change = set_up(tmp_path / "mcp.json")
    assert "cannot read" in change.error.message
    (tmp_path / "file").touch()
    change = set_up(tmp_path / "file" / "mcp.json")
    assert str(tmp_path / "file" / "mcp.json") in change.error.message


def test_a_disk_that_is_full_leaves_the_old_file_and_no_other(path):
    path.write_text("// " + "x" * 2000 + "\n{}")
    before = path.read_bytes()
    program = (
        "import resource, sys\n"
        "from binnacle.config.clients.known_clients import CLIENTS\n"
        "from binnacle.config.clients.setup_plan import carry_out, client_target, plan\n"
        "planned = plan(client_target(CLIENTS['vscode'], sys.argv[1]), remove=False)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))\n"
        "print(carry_out(planned).error.message)\n"
    )
    for limit in (1000, len(before)):  # in the backup, and in the file itself
        command = [sys.executable, "-B", "-c", program, str(path), str(limit)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        assert f"cannot write {path}" in done.stdout
        assert path.read_bytes() == before
    assert names(path) == ["mcp.json", "mcp.json.bak"]


def test_many_at_once_leave_one_whole_file(path):
    program = (
        "import sys\n"
        "from binnacle.config.clients.known_clients import CLIENTS\n"
        "from binnacle.config.clients.setup_plan import carry_out, client_target, plan\n"
        "for round in range(40):\n"
        "    remove = (round + int(sys.argv[2])) % 2 == 0\n"
        "    change = carry_out(plan(client_target(CLIENTS['vscode'], sys.argv[1]), remove=remove))\n"
        "    assert change.error is None, change.error\n"
    )
    command = [sys.executable, "-B", "-c", program, str(path)]
    children = [subprocess.Popen([*command, str(number)]) for number in range(4)]
    try:
        while any(child.poll() is None for child in children):
            assert plain(path.read_text())["servers"].keys() <= {"binnacle"}
    finally:
        codes = [child.wait(timeout=60) for child in children]
    assert codes == [0, 0, 0, 0]
    assert names(path) == ["mcp.json", "mcp.json.bak", "mcp.json.bak.1"]
    set_up(path, remove=True)
    assert path.read_bytes() == OTHER


def comes_back(client: str, content: bytes) -> None:
    """Sets a client up in a file and takes it out again: every byte must be as before."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "config")
        with open(path, "wb") as file:
            file.write(content)
        assert set_up(path, client=client).action == "updated"
        with open(path, "rb") as file:
            first = file.read()
        assert set_up(path, client=client).action == "unchanged"
        assert set_up(path, client=client, remove=True).action == "removed"
        with open(path, "rb") as file:
            assert file.read() == content
        set_up(path, client=client)
        with open(path, "rb") as file:
            assert file.read() == first


BOM = st.sampled_from(["", "\ufeff"])


@given(BOM, st.one_of(documents(), TRIVIA))
def test_every_json_file_comes_back_as_it_was(bom, text):
    comes_back("vscode", (bom + text).encode())


@given(BOM, test_toml.documents())
def test_every_toml_file_comes_back_as_it_was(bom, text):
    comes_back("codex", (bom + text).encode())


@settings(max_examples=40)  # PyYAML reads a file ten times in each
@given(BOM, test_yaml.documents())
def test_every_yaml_file_comes_back_as_it_was(bom, text):
    comes_back("goose", (bom + text).encode())


@given(BOM, st.text(alphabet="# a\r\n<!-"))
def test_every_agents_file_comes_back_as_it_was(bom, text):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "AGENTS.md")
        with open(path, "wb") as file:
            file.write((bom + text).encode())
        target = agents_target(path)
        carry_out(plan(target, remove=False))
        with open(path, "rb") as file:
            assert SECTION in file.read().decode().replace("\r\n", "\n")
        carry_out(plan(target, remove=True))
        with open(path, "rb") as file:
            assert file.read().decode() == bom + text
