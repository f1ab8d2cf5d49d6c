"""A program gets exactly what it was given, and what hinders it is said."""

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from binnacle import processes
from binnacle.processes.keeper import CannotStart, Keeper
from processes.ground import TOY

SOURCE = Path(processes.__file__).parents[2]


def refusal(ground, *argv, **options):
    """Why a program could not be started."""

    async def attempt():
        async with Keeper() as keeper:
            with pytest.raises(CannotStart) as caught:
                await ground.start(keeper, *argv, **options)
            return caught.value.message

    return ground.run(attempt())


def output(ground, *argv, **options):
    async def listen():
        async with Keeper() as keeper:
            program = await ground.start(keeper, *argv, **options)
            said = await program.read()
            assert await program.owned.wait() == 0
            return said

    return ground.run(listen())


def write_script(path, text, mode=0o755):
    path.write_text(text)
    path.chmod(mode)


@pytest.mark.parametrize("code", [0, 3, 255])
def test_the_exit_code_is_told(ground, code):
    async def leave():
        async with Keeper() as keeper:
            program = await ground.start(keeper, "sh", "-c", f"exit {code}")
            return await program.owned.wait(), program.owned.returncode, await program.owned.end()

    assert ground.run(leave()) == (code, code, code)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_a_signal_is_told_as_a_negative_code(ground, number):
    async def fall():
        async with Keeper() as keeper:
            program = await ground.start(keeper, *TOY, "kill", str(int(number)))
            return await program.owned.wait()

    assert ground.run(fall()) == -number


def test_several_may_wait_and_one_that_gives_up_disturbs_nobody(ground):
    async def wait_together():
        async with Keeper() as keeper:
            program = await ground.start(keeper, "cat", stdin=(ends := os.pipe())[0])
            os.close(ends[0])
            waiting = [asyncio.create_task(program.owned.wait()) for _ in range(3)]
            await asyncio.sleep(0)
            assert program.owned.returncode is None
            waiting[0].cancel()
            os.close(ends[1])
            return await asyncio.gather(*waiting[1:])

    assert ground.run(wait_together()) == [0, 0]


def test_the_environment_is_the_one_given_and_a_mark(ground):
    said = output(ground, "env", "-0", env={**ground.env, "EMPTY": "", "ODD": "a=b\nc\udcff"})
    pairs = dict(pair.split(b"=", 1) for pair in said.split(b"\0") if pair)
    assert pairs.pop(b"BN_KEPT")
    assert pairs == {
        **{name.encode(): value.encode() for name, value in ground.env.items()},
        b"EMPTY": b"",
        b"ODD": b"a=b\nc\xff",
    }


def test_a_program_has_its_own_session_three_descriptors_and_no_signal_ignored(ground):
    facts = json.loads(output(ground, *TOY, "where"))
    assert facts["cwd"] == ground.cwd
    assert (facts["session"], facts["group"]) == (True, True)
    assert facts["fds"] == [0, 1, 2]
    assert facts["blocked"] == []
    assert facts["interrupt"]
    # What Python ignores by itself.
    assert set(facts["ignored"]) == {signal.SIGPIPE, signal.SIGXFSZ}


def test_arguments_arrive_as_they_are(ground):
    words = ["", "two words", "*", "$HOME", "é", "\udcff", "-n"]
    said = output(ground, "printf", "%s|", *words)
    assert said == "".join(f"{word}|" for word in words).encode("utf-8", "surrogateescape")


def test_a_command_is_looked_for_in_the_path_given(ground, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "other").mkdir()
    write_script(tmp_path / "bin" / "greet", "#!/bin/sh\necho hello\n")
    write_script(tmp_path / "other" / "greet", "not to be run", mode=0o644)
    path = f"{tmp_path}/missing:{tmp_path}/other:{tmp_path}/bin"
    assert output(ground, "greet", env={**ground.env, "PATH": path}) == b"hello\n"


def test_a_relative_command_is_looked_for_where_it_is_to_run(ground, tmp_path):
    write_script(tmp_path / "greet", "#!/bin/sh\necho hello\n")
    assert output(ground, "./greet") == b"hello\n"


def test_a_missing_command_is_named(ground):
    assert refusal(ground, "no-such-thing") == "no such command: no-such-thing"
    assert refusal(ground, "/no/such/thing") == "no such command: /no/such/thing"
    assert refusal(ground, "ls", env={"PATH": "/nowhere", "STAGE": "x"}) == "no such command: ls"


def test_a_file_that_is_no_program_is_named(ground, tmp_path):
    write_script(tmp_path / "plain", "#!/bin/sh\n", mode=stat.S_IRUSR)
    assert refusal(ground, "./plain") == "permission denied: ./plain"
    write_script(tmp_path / "orphaned", "#!/no/such/interpreter\n")
    assert refusal(ground, "./orphaned") == "the interpreter that it names is missing: ./orphaned"
    write_script(tmp_path / "mute", "echo without a first line\n")
    assert refusal(ground, "./mute") == "cannot run ./mute: Exec format error"


def test_a_directory_that_cannot_be_entered_is_named(ground, tmp_path):
    assert refusal(ground, "ls", cwd=f"{tmp_path}/gone") == f"no such directory: {tmp_path}/gone"
    (tmp_path / "file").touch()
    assert refusal(ground, "ls", cwd=f"{tmp_path}/file") == f"not a directory: {tmp_path}/file"


def test_what_no_process_can_be_given_is_refused_without_telling_secrets(ground):
    assert refusal(ground) == "no command given"
    assert refusal(ground, "ls", "a\0b") == r"not a text that a process can be given: 'a\x00b'"
    secret = refusal(ground, "ls", env={"TOKEN": "secret\0"})
    assert secret == "not a text that a process can be given: the value of TOKEN"
    assert refusal(ground, "ls", env={"A=B": "c"}) == "not a name of a variable: 'A=B'"
    assert refusal(ground, "ls", "x" * 3_000_000) == "cannot run ls: Argument list too long"
    assert refusal(ground, "ls", stdin=9999) == "cannot start a process: Bad file descriptor"


def test_after_a_refusal_others_start(ground):
    async def go_on():
        async with Keeper() as keeper:
            for _ in range(3):
                with pytest.raises(CannotStart):
                    await ground.start(keeper, "no-such-thing")
            program = await ground.start(keeper, "echo", "here")
            return await program.read()

    assert ground.run(go_on()) == b"here\n"


def test_a_stream_ends_when_its_caller_closes_it_whoever_else_runs(ground):
    async def close_one():
        async with Keeper() as keeper:
            read, write = os.pipe()
            first = await ground.start(keeper, "cat", stdin=read)
            os.close(read)
            second = await ground.start(keeper, *TOY, "hang")
            await second.wait_for("hanging")
            os.write(write, b"to the end")
            os.close(write)
            return await first.read(), await first.owned.wait(), second.owned.returncode

    assert ground.run(close_one()) == (b"to the end", 0, None)


def test_fifty_programs_run_at_once_and_each_is_told_apart(ground):
    async def crowd():
        async with Keeper() as keeper:
            programs = await asyncio.gather(
                *(ground.start(keeper, "sh", "-c", f"echo {number}; exit {number}") for number in range(50))
            )
            assert len({program.owned.pid for program in programs}) == 50
            said = [int(await program.read()) for program in programs]
            return said, [await program.owned.wait() for program in programs]

    assert ground.run(crowd()) == (list(range(50)), list(range(50)))


def test_large_requests_do_not_get_into_each_others_way(ground):
    env = {**{f"V{number}": "x" * 100_000 for number in range(8)}, **ground.env}

    async def crowd():
        async with Keeper() as keeper:
            programs = await asyncio.gather(
                *(ground.start(keeper, "echo", str(number), env=env) for number in range(20))
            )
            return [int(await program.read()) for program in programs]

    assert ground.run(crowd()) == list(range(20))


def test_no_process_is_there_before_the_first_program_and_none_can_be_started_after_the_end(ground):
    async def enter_and_leave():
        async with Keeper() as keeper:
            # This test carries the mark only in what it starts.
            assert ground.stage.processes() == []
        with pytest.raises(CannotStart, match="the server is shutting down"):
            await ground.start(keeper, "ls")

    ground.run(enter_and_leave())


@pytest.mark.linux_only("elsewhere the keeper loads psutil")
def test_the_keeper_is_small_and_loads_little(ground):
    async def weigh():
        async with Keeper() as keeper:
            for _ in range(20):
                program = await ground.start(keeper, "true")
                await program.owned.end()
            with open(f"/proc/{keeper._link.pid}/smaps_rollup", encoding="ascii") as file:
                return {line.split()[0]: int(line.split()[1]) for line in file if line.endswith("kB\n")}

    sizes = ground.run(weigh())
    print(f"keeper: {sizes['Rss:']} KB resident, {sizes['Private_Dirty:']} KB of its own")
    assert sizes["Rss:"] < 20_000
    code = (
        f"import sys; sys.path.append({str(SOURCE)!r}); import binnacle.processes.keeper_process.service; "
        "print(*{'enum', 'socket', 'signal', 'typing', 'contextlib', 'collections', 'subprocess'} & {*sys.modules})"
    )
    loaded = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, check=True, timeout=60)
    assert loaded.stdout == b"\n"
