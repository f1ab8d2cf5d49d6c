"""What a setup made is kept for the next commits, is right at its path, and cannot be changed by what is checked."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from binnacle.checks import kept_setups, setup_slots
from binnacle.checks.setup_slots import SLOTS_OF_KEY
from checks.checked_repository import CART, PYTEST, TESTS, CheckedRepository, make_check
from checks.test_bounds import PATIENCE_SECONDS, is_alive, wait_until

LOCK = "cart 1.0\n"
SETUP = """\
import os, pathlib, subprocess, sys
with open(os.environ["BN_RAN"], "a") as ran:
    ran.write(".")
subprocess.run([sys.executable, "-m", "venv", "--without-pip", ".venv"], check=True)
site = next(pathlib.Path(".venv/lib").glob("python*/site-packages"))
(site / "shelf.py").write_text("price = 5\\n")
(pathlib.Path.home() / "settings").write_text("as it was")
"""
USES = f"sh -c '.venv/bin/python -c \"import shelf; assert shelf.price == 5\" && cat $HOME/settings && {PYTEST}'"


class KeptRepository(CheckedRepository):
    """A repository with a lock file and a setup that says how often it ran."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.ran = path / "ran"
        self.repo.write({".gitignore": ".venv\n__pycache__\n", "shop.lock": LOCK, "setup.sh.py": SETUP})
        self.repo.git("add", "--all")
        self.repo.git("commit", "--quiet", "-m", "a lock file")
        self.base = self.repo.git("rev-parse", "HEAD")
        self.number = 0

    def check(self, command: str = USES, **fields):
        setup = f"[env, 'BN_RAN={self.ran}', '{sys.executable}', setup.sh.py]"
        return make_check(command, **{"setup": setup, "cache": "[shop.lock]", **fields})

    def change(self, files: dict[str, str | None] | None = None) -> str:
        """A commit on the base that differs from all others."""
        self.number += 1
        return self.branch({"cart.py": f"{CART}# {self.number}\n", **(files or {})})

    @property
    def setups(self) -> int:
        return len(self.ran.read_text()) if self.ran.exists() else 0

    @property
    def slots(self) -> list[Path]:
        return sorted(self.folder.glob("setups/*/kept.json"))

    @property
    def left(self) -> list[str]:
        """Rooms that are left where setups are kept."""
        return [str(one) for one in self.folder.glob("setups/*/room")]


@pytest.fixture
def kept(tmp_path) -> KeptRepository:
    return KeptRepository(tmp_path)


def test_a_setup_runs_once_for_many_commits(kept):
    check = kept.check()
    for _ in range(4):
        found = kept.run(check, kept.change())
        assert found.verdict == "pass", found.log_excerpt
    assert kept.setups == 1
    assert kept.left == kept.rooms == []
    assert len(kept.slots) == 1


def test_without_lock_files_it_runs_for_each_checkout(kept):
    check = kept.check(cache="[]")
    for _ in range(2):
        assert kept.run(check, kept.change()).verdict == "pass"
    assert kept.setups == 2
    assert kept.slots == []


def test_each_commit_is_checked_with_its_own_files(kept):
    """Also where the base has others, and one that it does not have."""
    command = "sh -c 'cat tests/* cart.py && ! test -e gone.txt'"
    kept.base = kept.repo.commit("more", {"gone.txt": "gone\n"})
    check = kept.check(command)
    kept.run(check, kept.change())
    kept.repo.git("checkout", "--quiet", "-B", "work", kept.base)
    kept.repo.git("rm", "--quiet", "gone.txt")
    kept.repo.write({"cart.py": "mine = True\n"})
    kept.repo.git("commit", "--quiet", "--all", "-m", "without")
    found = kept.run(check, "HEAD")
    assert found.verdict == "pass"
    assert "mine = True" in Path(found.log).read_text()
    assert kept.setups == 1


def test_another_lock_file_needs_its_own_setup(kept):
    check = kept.check()
    kept.run(check, kept.change())
    assert kept.run(check, kept.change({"shop.lock": "cart 2.0\n"})).verdict == "pass"
    assert kept.setups == 2
    assert len(kept.slots) == 1  # what a branch prepares is not kept
    assert kept.run(check, kept.change({"shop.lock": None})).verdict == "pass"
    assert kept.setups == 3
    kept.run(check, kept.change())
    assert kept.setups == 3


@pytest.mark.parametrize("other", [{"setup": "[sh, -c, 'mkdir .venv; touch .venv/x']"}, {"needs": "[git]"}])
def test_another_setup_and_another_environment_need_their_own(kept, other):
    kept.run(kept.check(), kept.change())
    kept.run(kept.check("true", **other), kept.change())
    assert len(kept.slots) == 2


def test_a_lock_file_that_is_a_link_keeps_nothing(kept):
    (kept.repo.path / "shop.lock").unlink()
    os.symlink("cart.py", kept.repo.path / "shop.lock")
    kept.repo.git("commit", "--quiet", "--all", "-m", "a link")
    kept.base = kept.repo.git("rev-parse", "HEAD")
    assert kept.run(kept.check(), kept.change()).verdict == "pass"
    assert kept.slots == []


WRITES_EVERYWHERE = """\
import os
import pathlib
import subprocess

(pathlib.Path.home() / "settings").write_text("mine now")
(pathlib.Path.home() / ".gitconfig").write_text("[core]\\n\\thooksPath = /tmp\\n")
for place in pathlib.Path(".venv/lib").glob("python*/site-packages"):
    (place / "shelf.py").write_text("price = 6\\n")
    (place / "mine.pth").write_text("import os\\n")
pathlib.Path(".venv/bin/also").write_text("mine")
pathlib.Path("left.txt").write_text("mine")
pathlib.Path("__pycache__").mkdir(exist_ok=True)
subprocess.run(["git", "config", "filter.x.smudge", "touch /tmp/mine"])
pathlib.Path(".git/hooks").mkdir(exist_ok=True)
pathlib.Path(".git/hooks/post-checkout").write_text("#!/bin/sh\\nfalse\\n")
"""


def test_nothing_that_a_check_writes_reaches_the_next(kept):
    check = kept.check()
    kept.run(check, kept.change())
    kept.run(check, kept.change({"tests/conftest.py": WRITES_EVERYWHERE}))
    look = kept.check(
        'sh -c \'cat $HOME/settings; ls -A $HOME . .venv/bin .git; .venv/bin/python -c "import shelf; print(shelf)"; '
        "git config --list; git status --porcelain --ignored'"
    )
    found = kept.run(look, kept.change())
    said = Path(found.log).read_text()
    assert found.verdict == "pass"
    assert kept.setups == 1
    for word in ("mine", "left.txt", ".gitconfig", "also", "hooks"):
        assert word not in said
    assert "as it was" in said
    assert kept.run(check, kept.change()).verdict == "pass"


POISON = """\
import pathlib

tree = pathlib.Path.cwd()
for place in (tree.parent.parent / "pristine").rglob("shelf.py"):
    place.chmod(0o600)
    place.write_text("price = 6\\n")
    (place.parent / "mine.pth").write_text("import os\\n")
"""


def test_a_branch_that_changes_what_is_kept_makes_it_be_made_again(kept):
    check = kept.check()
    kept.run(check, kept.change())
    kept.run(check, kept.change({"tests/conftest.py": POISON}))
    found = kept.run(check, kept.change())
    assert found.verdict == "pass", found.log_excerpt
    assert kept.setups == 2
    assert "price = 5" in next((kept.folder / "setups").rglob("shelf.py")).read_text()


EVIL_SETUP = SETUP.replace("price = 5", "price = 6")


def test_the_setup_of_a_branch_is_never_kept(kept):
    """Its lock files are those of the base, and its setup does something else."""
    check = kept.check()
    found = kept.run(check, kept.change({"setup.sh.py": EVIL_SETUP}))
    assert found.verdict == "pass", found.log_excerpt  # the setup of the base was used
    assert kept.run(check, kept.change()).verdict == "pass"
    assert kept.setups == 1


def test_what_was_kept_for_a_base_that_is_not_in_its_history_is_not_used(kept):
    """An agent may name any commit as base."""
    evil = kept.change({"setup.sh.py": EVIL_SETUP})
    again = kept.repo.commit("on top", {"more.txt": "more\n"})
    assert kept.run(kept.check(), again, evil).verdict == "fail"
    assert kept.setups == 1
    found = kept.run(kept.check(), kept.change())
    assert found.verdict == "pass", found.log_excerpt
    assert kept.setups == 2


def test_what_was_kept_for_an_older_base_is_used(kept):
    kept.run(kept.check(), kept.change())
    kept.base = kept.repo.commit("merged", {"more.txt": "more\n"})
    assert kept.run(kept.check(), kept.change()).verdict == "pass"
    assert kept.setups == 1


@pytest.mark.parametrize("name", [".venv/lib/mine.py", ".venv", ".VENV/bin/python"])
def test_a_commit_with_files_where_the_setup_makes_some_gets_its_own_setup(kept, name):
    kept.run(kept.check(), kept.change())
    kept.repo.git("config", "core.excludesFile", "/dev/null")
    commit = kept.change({".gitignore": "__pycache__\n", name: "mine\n"})
    kept.run(kept.check("true"), commit)
    assert kept.setups == 2


def test_a_setup_that_changes_files_of_the_repository_is_not_kept(kept):
    check = kept.check("true", setup="[sh, -c, 'echo >> cart.py']")
    found = kept.run(check, kept.change())
    assert found.verdict == "pass"
    assert "the setup changes files of the repository" in Path(found.log).read_text()
    assert kept.slots == []


def test_a_setup_that_fails_on_the_base_is_tried_on_the_commit(kept):
    check = kept.check("true", setup="[sh, -c, 'test -f fixed']")
    assert kept.run(check, kept.change({"fixed": ""})).verdict == "pass"
    assert kept.run(check, kept.change()).reason == "its setup failed: exit code 1"
    assert kept.slots == []


def test_two_at_once_do_not_share_a_room(kept):
    busy = kept.path / "busy"
    command = f"sh -c 'pwd >> {busy} && touch mine && sleep 0.3 && test -f mine && rm mine && test ! -e mine'"

    async def at_once(number: int):
        commits = [kept.change() for _ in range(number)]
        return await asyncio.gather(*(kept.run_async(kept.check(command), one) for one in commits))

    found = asyncio.run(asyncio.wait_for(at_once(SLOTS_OF_KEY + 1), PATIENCE_SECONDS))
    assert [one.verdict for one in found] == ["pass"] * (SLOTS_OF_KEY + 1)
    assert len(set(busy.read_text().split())) == SLOTS_OF_KEY + 1
    assert kept.setups == SLOTS_OF_KEY + 1
    asyncio.run(asyncio.wait_for(at_once(SLOTS_OF_KEY), PATIENCE_SECONDS))
    assert kept.setups == SLOTS_OF_KEY + 1
    assert kept.left == kept.rooms == []


KILLED = """\
import sys
from pathlib import Path
from checks.checked_repository import CheckedRepository, make_check
from runner.repositories import Repository

checked = CheckedRepository.__new__(CheckedRepository)
checked.path = Path(sys.argv[1])
checked.repo, checked.folder = Repository(checked.path / "repo"), checked.path / "checks"
checked.told, checked.environ, checked.base = [], {}, sys.argv[3]
setup = f"[sh, -c, 'mkdir .venv; if test ! -e {sys.argv[1]}/pid; then echo $$ > {sys.argv[1]}/pid; sleep 1000; fi; "
setup += "touch .venv/complete']"
checked.run(make_check("test -f .venv/complete", setup=setup, cache="[shop.lock]"), sys.argv[2])
"""


def test_a_kill_in_the_middle_of_a_setup_leaves_nothing_that_is_used(kept):
    commit, pid = kept.change(), kept.path / "pid"
    words = [sys.executable, "-c", KILLED, str(kept.path), commit, kept.base]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    ours = subprocess.Popen(words, env=env)
    try:
        wait_until(lambda: pid.exists() and pid.read_text().strip())
    finally:
        ours.send_signal(signal.SIGKILL)
        ours.wait(PATIENCE_SECONDS)
    wait_until(lambda: not is_alive(int(pid.read_text())))
    assert kept.left
    assert kept.slots == []
    subprocess.run(words, env=env, check=True, timeout=PATIENCE_SECONDS)
    assert len(kept.slots) == 1
    assert kept.left == []
    assert len(list(kept.folder.rglob("pristine/tree/.venv/complete"))) == 1


def test_a_killed_user_of_what_is_kept_leaves_a_room_that_the_next_one_removes(kept):
    kept.run(kept.check(), kept.change())
    room = kept.slots[0].parent / "room"
    (room / "tree").mkdir(parents=True)
    (room / "tree" / "left.txt").write_text("mine")
    found = kept.run(kept.check("sh -c '! test -e left.txt'"), kept.change())
    assert found.verdict == "pass"
    assert kept.left == []


def test_a_copy_that_fails_is_no_error(kept, tmp_path):
    """As on a full disk: what runs in place of `cp` fails."""
    kept.run(kept.check(), kept.change())
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "cp").write_text("#!/bin/sh\necho 'No space left on device' >&2\nexit 1\n")
    (programs / "cp").chmod(0o755)
    kept.environ = {"PATH": f"{programs}:{os.environ['PATH']}"}
    found = kept.run(kept.check(), kept.change())
    assert found.verdict == "pass", found.log_excerpt
    assert kept.left == kept.rooms == []


def test_a_disk_with_too_little_space_keeps_nothing(kept, monkeypatch):
    monkeypatch.setattr(kept_setups, "SPARE_BYTES", 1 << 60)
    assert kept.run(kept.check(), kept.change()).verdict == "pass"
    assert kept.slots == []


def test_the_oldest_are_removed_when_there_are_too_many(kept, monkeypatch):
    monkeypatch.setattr(setup_slots, "MAX_SLOTS", 2)
    for number in range(4):
        setup = f"[sh, -c, 'mkdir .venv; touch .venv/{number}']"
        kept.run(kept.check("true", setup=setup), kept.change())
        os.utime(kept.slots[-1], (number, number)) if len(kept.slots) == 1 else None
    assert len(kept.slots) == 2
    assert (kept.folder / "setups").exists()
    assert len(list((kept.folder / "setups").iterdir())) == 4  # two slots and their locks


def test_too_old_is_made_again(kept, monkeypatch):
    kept.run(kept.check(), kept.change())
    monkeypatch.setattr(setup_slots, "MAX_AGE_SECONDS", -1.0)
    assert kept.run(kept.check(), kept.change()).verdict == "pass"
    assert kept.setups >= 2


def test_modules_of_the_base_are_not_taken_for_those_of_the_commit(kept):
    """The setup compiles them, and the commit's source may have the same size and time."""
    setup = f"[sh, -c, 'mkdir .venv; {sys.executable} -m compileall -q .']"
    check = kept.check("sh -c '! ls __pycache__ tests/__pycache__'", setup=setup)
    assert kept.run(check, kept.change()).verdict == "pass"
    assert kept.slots


def test_a_project_of_uv_with_its_own_package(kept):
    """The environment has a link to the checkout, which is right for each commit."""
    uv = Path(sys.executable).with_name("uv")
    project = '[project]\nname = "cart"\nversion = "1"\nrequires-python = ">=3.11"\n[tool.uv]\npackage = false\n'
    kept.repo.write({"pyproject.toml": project, "uv.lock": "", "tests/test_cart.py": TESTS})
    (kept.repo.path / "uv.lock").unlink()
    env = {**os.environ, "UV_OFFLINE": "1", "UV_PYTHON": sys.executable}
    subprocess.run([uv, "lock", "--quiet"], cwd=kept.repo.path, env=env, check=True, timeout=PATIENCE_SECONDS)
    kept.repo.git("add", "--all")
    kept.repo.git("commit", "--quiet", "-m", "a project of uv")
    kept.base = kept.repo.git("rev-parse", "HEAD")
    kept.environ = {"UV_OFFLINE": "1", "UV_PYTHON": sys.executable, "PATH": f"{uv.parent}:{os.environ['PATH']}"}
    check = make_check(
        "uv run --frozen python -c 'import cart; print(cart)'", setup="uv sync", cache="[uv.lock, pyproject.toml]"
    )
    for _ in range(2):
        found = kept.run(check, kept.change())
        assert found.verdict == "pass", found.log_excerpt
    assert "/setups/" in Path(found.log).read_text()
    assert "Creating virtual environment" not in Path(found.log).read_text()
