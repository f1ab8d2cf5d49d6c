"""A fork server never runs code older than what is installed."""

import os

import pytest

from binnacle.passthrough.command import BN, PassthroughCommand
from binnacle.passthrough.installed_files import find_records
from passthrough.stage import bounded

VERSION = "def main(args):\n    from ware import part\n    print({!r}, part.WORD)\n"


@pytest.fixture
def ware(stage, tmp_path, monkeypatch):
    """An installed package with a command."""
    home = tmp_path / "site"
    package = home / "ware"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "cli.py").write_text(VERSION.format("one"))
    (package / "part.py").write_text("WORD = 'part'")
    record = home / "ware-1.0.dist-info"
    record.mkdir()
    (record / "RECORD").write_text("")
    monkeypatch.syspath_prepend(str(home))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    stage.command = PassthroughCommand(name="ware", function="ware.cli:main", preload=("ware.part",))
    return home


def change(stage, act):
    """What a call says, before and after something happens, and whether it is by the same fork server."""

    async def both():
        async with stage.runner() as runner:
            before = await stage.call(runner)
            server = runner._fork_servers._server
            act()
            after = await stage.call(runner)
            return before.stdout + after.stdout, runner._fork_servers._server is server

    return bounded(both())


def test_a_changed_module_is_run_as_it_is_now(stage, ware):
    said, same = change(stage, lambda: (ware / "ware/cli.py").write_text(VERSION.format("three")))
    assert said == "one part\nthree part\n"
    assert not same


def test_a_preloaded_module_counts_as_much(stage, ware):
    said, same = change(stage, lambda: (ware / "ware/part.py").write_text("WORD = 'other'"))
    assert said == "one part\none other\n"
    assert not same


def test_a_change_that_keeps_size_and_date_is_noticed(stage, ware):
    file = ware / "ware/cli.py"

    def swap():
        found = file.stat()
        file.write_text(VERSION.format("two"))
        os.utime(file, ns=(found.st_atime_ns, found.st_mtime_ns))

    said, same = change(stage, swap)
    assert said == "one part\ntwo part\n"
    assert not same


def test_an_installation_is_noticed_even_if_it_leaves_the_loaded_files_alone(stage, ware):
    _, same = change(stage, lambda: (ware / "ware-1.0.dist-info").rename(ware / "ware-1.1.dist-info"))
    assert not same


def test_the_record_of_our_own_installation_is_found():
    assert [path for path in find_records(BN.distribution) if path.endswith("RECORD")]


def test_what_was_not_loaded_does_not_matter(stage, ware):
    said, same = change(stage, lambda: (ware / "ware/unused.py").write_text("1/0"))
    assert said == "one part\none part\n"
    assert same


def test_a_package_that_is_gone_runs_cold_or_not_at_all(stage, ware):
    async def remove():
        async with stage.runner() as runner:
            await stage.call(runner)
            (ware / "ware/cli.py").unlink()
            return await stage.call(runner)

    done = bounded(remove())
    assert (done.exit_code, done.stderr) == (127, "ware binary not found\n")
