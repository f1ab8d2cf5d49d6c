"""What came with a clone is no job, no host and no answer."""

import json
import os
import stat
import subprocess
import time

import pytest

import cli.conftest
from binnacle.bridge.jobs import process_identity
from cli.conftest import BN
from cli.test_mcp import Client

bn = cli.conftest.bn

JOB = "20260101T000000000Z-0001-abcd"
EVIL = "import pathlib, sys\npathlib.Path(sys.argv[1]).touch()\n"


def run_host(bn):
    """A host in the foreground, until it answers."""
    process = subprocess.Popen([BN, "bridge", "host"], cwd=bn.repo, env=bn.env, stderr=subprocess.PIPE)
    end = time.monotonic() + 60
    while bn("bridge", "status")["host"] is None:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < end
    bn("bridge", "stop")
    assert process.wait(timeout=60) == 0
    process.stderr.close()


def run_script(bn):
    assert bn("script", "run", "breakpoint.list")["ok"]
    bn("bridge", "stop")


def call_tool(bn):
    client = Client(bn, "--recipe", "debug")
    assert client.data("breakpoint_list") == {"breakpoints": [], "count": 0}
    client.end()
    bn("bridge", "stop")


def ask_status(bn):
    bn.run("bridge", "status")
    bn.run("bridge", "stop")


WAYS = (run_host, run_script, call_tool, ask_status)


@pytest.fixture
def clone(bn, tmp_path):
    """A repository that holds a job which writes a file, as the bridge's client would have left it."""
    (bn.repo / "evil.py").write_text(EVIL)
    job = bn.repo / ".vsc-bridge" / "execute" / JOB
    job.mkdir(parents=True)
    params = {"program": "evil.py", "args": [str(tmp_path / "ran")], "wait": False}
    command = {"version": 1, "clientId": "mcp-server", "id": JOB, "createdAt": "", "scriptName": "debug.start"}
    (job / "command.json").write_text(json.dumps(command | {"params": params}))
    (job / "proof").write_text("0" * 64)
    yield bn
    bn.run("bridge", "stop")


@pytest.mark.parametrize("way", WAYS)
def test_a_job_that_came_with_a_clone_never_runs(clone, tmp_path, way):
    way(clone)
    job = clone.repo / ".vsc-bridge" / "execute" / JOB
    assert not (job / "claimed.json").exists()
    assert not (job / "done").exists()
    assert not (tmp_path / "ran").exists()
    if way is not ask_status:
        assert not job.exists(), "a host begins with nothing"


def test_a_job_that_comes_while_a_host_serves_is_refused(clone, tmp_path):
    clone("script", "run", "breakpoint.list")
    job = clone.repo / ".vsc-bridge" / "execute" / JOB
    job.mkdir()
    (job / "command.json").write_text('{"clientId":"x","id":"x","createdAt":"","scriptName":"bridge.stop"}')
    end = time.monotonic() + 60
    while not (job / "done").exists():
        assert time.monotonic() < end
        time.sleep(0.01)
    assert json.loads((job / "error.json").read_text())["error"]["code"] == "E_UNAUTHORIZED"
    assert clone("bridge", "status")["host"]["healthy"], "it was told to end, by nobody"


class TestHostFile:
    """`host.json` and `host.lock` of a clone say whatever a stranger wants."""

    @pytest.fixture
    def sleeper(self):
        process = subprocess.Popen(["sleep", "600"])
        yield process
        process.kill()
        process.wait(timeout=60)

    def plant(self, bn, pid, **more):
        folder = bn.repo / ".vsc-bridge"
        folder.mkdir()
        told = {"bridgeId": "headless-12345678", "version": 2, "kind": "headless", "pid": pid, "proof": "0" * 64}
        for name in ("host.json", "host.lock"):
            (folder / name).write_text(json.dumps(told | {"workspace": str(bn.repo)} | more))

    def test_no_stranger_is_ended(self, bn, sleeper):
        self.plant(bn, sleeper.pid)
        assert bn("bridge", "stop") == {"stopped": False}
        assert sleeper.poll() is None

    @pytest.mark.parametrize("more", [{}, {"kind": "vscode"}, {"namespace": "elsewhere"}])
    def test_a_host_is_started_where_only_a_file_says_there_is_one(self, bn, sleeper, more):
        self.plant(bn, sleeper.pid, **more)
        assert bn("bridge", "status")["host"] is None
        assert bn("script", "run", "breakpoint.list")["ok"]
        assert bn("bridge", "status")["host"]["pid"] != sleeper.pid
        assert bn("bridge", "stop")["stopped"]
        assert sleeper.poll() is None

    def test_a_host_of_another_program_is_named_and_left_alone(self, bn, sleeper):
        start = process_identity.process_start(sleeper.pid)
        self.plant(bn, sleeper.pid, kind="vscode", processStart=start, namespace=process_identity.namespace())
        done = bn.run("script", "run", "breakpoint.list")
        assert done.json["error"]["code"] == "E_BRIDGE_UNAVAILABLE"
        assert str(sleeper.pid) in done.json["error"]["message"]
        assert sleeper.poll() is None


class TestFolder:
    """`.vsc-bridge` of a clone is whatever a stranger wants."""

    def use(self, bn):
        done = bn.run("script", "run", "breakpoint.list")
        assert done.code == 1
        assert done.json["error"]["code"] == "E_FS_ERROR", done.json
        assert bn.run("bridge", "host").code == 1
        return done.json["error"]["message"]

    @pytest.mark.parametrize("where", ["", "execute", "prepared"])
    def test_a_link_is_refused_and_nothing_behind_it_is_touched(self, bn, tmp_path, where):
        outside = tmp_path / "outside"
        (outside / "execute" / "precious").mkdir(parents=True)
        (outside / "prepared" / "precious").mkdir(parents=True)
        link = bn.repo / ".vsc-bridge" / where
        link.parent.mkdir(exist_ok=True)
        link.parent.joinpath(link.name).symlink_to(outside)
        before = sorted(outside.rglob("*"))
        assert "link" in self.use(bn)
        bn.run("bridge", "status")
        bn.run("bridge", "stop")
        assert sorted(outside.rglob("*")) == before

    def test_a_link_inside_the_repository_is_refused_too(self, bn):
        (bn.repo / "precious" / "execute" / "kept").mkdir(parents=True)
        (bn.repo / ".vsc-bridge").symlink_to("precious")
        self.use(bn)
        assert (bn.repo / "precious" / "execute" / "kept").is_dir()

    def test_a_file_is_refused(self, bn):
        (bn.repo / ".vsc-bridge").write_text("")
        assert "no folder" in self.use(bn)

    def test_a_folder_that_others_may_write_to_is_refused(self, bn):
        (bn.repo / ".vsc-bridge").mkdir()
        os.chmod(bn.repo / ".vsc-bridge", 0o777)
        assert "others may write" in self.use(bn)

    @pytest.mark.parametrize(
        "name", ["host.log", "starting.lock", "host.json", "host.lock", ".gitignore", "host.log.1"]
    )
    def test_no_link_in_it_is_written_through_or_read(self, bn, tmp_path, name):
        precious = tmp_path / "precious"
        precious.write_text("precious")
        folder = bn.repo / ".vsc-bridge"
        folder.mkdir()
        (folder / name).symlink_to(precious)
        before = precious.stat()
        done = bn.run("script", "run", "breakpoint.list")
        bn.run("bridge", "stop")
        assert "precious" not in done.out.replace(str(precious), "")
        assert precious.read_text() == "precious"
        assert precious.stat().st_mtime_ns == before.st_mtime_ns

    def test_links_among_the_jobs_are_taken_away_and_not_followed(self, bn, tmp_path):
        precious = tmp_path / "precious"
        precious.mkdir()
        (precious / "kept").write_text("kept")
        (precious / "command.json").write_text('{"clientId":"x","id":"x","createdAt":"","scriptName":"bridge.stop"}')
        execute = bn.repo / ".vsc-bridge" / "execute"
        (execute / "deep" / "deeper").mkdir(parents=True)
        (execute / JOB).symlink_to(precious)
        (execute / "deep" / "deeper" / "link").symlink_to(precious)
        (execute / "file").write_text("")
        assert bn("script", "run", "breakpoint.list")["ok"]
        (execute / JOB).symlink_to(precious)
        assert bn("script", "run", "breakpoint.list")["ok"]
        bn("bridge", "stop")
        assert sorted(os.listdir(precious)) == ["command.json", "kept"]

    def test_everything_in_it_is_private(self, bn):
        (bn.repo / ".vsc-bridge" / "execute").mkdir(parents=True)
        os.chmod(bn.repo / ".vsc-bridge", 0o755)
        assert bn("script", "run", "breakpoint.list")["ok"]
        for folder in (bn.repo / ".vsc-bridge", bn.repo.parent / "data"):
            for path in (folder, *folder.rglob("*")):
                mode = path.stat().st_mode
                assert stat.S_IMODE(mode) & 0o077 == 0, (path, oct(mode))
        bn("bridge", "stop")
