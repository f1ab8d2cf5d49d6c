"""What holds for every call, in a fork or cold."""

import asyncio
import json
import os
import signal

import pytest

from binnacle.errors import InvalidInput
from binnacle.passthrough.call_request import MAX_REQUEST_BYTES
from passthrough.stage import bounded


def test_a_call_returns_what_the_process_said_and_its_exit_code(either):
    done = either.play("say", "to out", "to err", "7")
    assert (done.stdout, done.stderr, done.exit_code) == ("to out", "to err", 7)
    assert not done.timed_out
    assert not done.cut
    assert done.duration > 0


@pytest.mark.parametrize(
    "words", [[], [""], ["a b", "-x", "--", "it's", '"'], ["zeile\nzwei", "\t"], ["grüße", "😀"], ["x\udcff"]]
)
def test_arguments_arrive_as_given(either, words):
    done = either.play("args", *words)
    assert json.loads(done.stdout) == {"argv": ["args", *words], "words": words}


def test_a_process_has_the_directory_and_the_environment_it_was_given_and_nothing_else(either, monkeypatch):
    monkeypatch.setenv("OF_THE_PARENT", "yes")
    either.env |= {"TZ": "Asia/Tokyo", "EMPTY": "", "WITH": "a=b\nc"}
    facts = json.loads(either.play("where").stdout)
    assert facts["cwd"] == os.path.realpath(either.cwd)
    assert facts["env"].pop("BN_KEPT")
    # Python itself adds this where no locale is set.
    facts["env"].pop("LC_CTYPE", None)
    assert facts["env"] == either.env
    assert facts["hour"] == "09"


def test_a_process_is_on_its_own(either):
    facts = json.loads(either.play("where").stdout)
    assert facts["session"]
    assert facts["group"]
    assert facts["fds"] == [0, 1, 2]
    assert facts["stdin"] == ""


def test_a_process_has_the_signals_of_a_new_one(either):
    facts = json.loads(either.play("where").stdout)
    assert facts["ignored"] == [signal.SIGPIPE, signal.SIGXFSZ]
    assert facts["blocked"] == []
    assert facts["interrupt"]
    assert facts["encoding"] == "utf-8"


@pytest.mark.parametrize(
    ("words", "code", "err"),
    [
        (["return", "0"], 0, ""),
        (["return", "300"], 300 % 256, ""),
        (["int", "9"], 9, ""),
        (["int", "-1"], 255, ""),
        (["none"], 0, ""),
        (["text", "so long"], 1, "so long\n"),
        (["interrupt"], 130, None),
    ],
)
def test_every_way_to_exit_is_the_same(either, words, code, err):
    done = either.play("exit", *words)
    assert (done.exit_code, done.stdout) == (code, "before")
    assert err is None or done.stderr == err


def test_an_error_that_nobody_catches_is_shown(either):
    done = either.play("exit", "raise", "what now")
    assert (done.exit_code, done.stdout) == (1, "before")
    assert done.stderr.endswith("ValueError: what now\n")


def test_a_process_that_leaves_without_a_word_is_only_gone(either):
    assert either.play("vanish", "42").exit_code == 42


def test_a_crash_stays_in_its_process(either):
    async def twice():
        async with either.runner() as runner:
            crashed = await either.call(runner, "crash")
            return crashed, await either.call(runner, "say", "still here")

    crashed, after = bounded(twice())
    assert crashed.exit_code == 128 + signal.SIGSEGV
    assert after.stdout == "still here"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGABRT])
def test_a_death_by_signal_is_reported_as_shells_do(either, number):
    assert either.play("kill", str(int(number))).exit_code == 128 + number


def test_ten_megabytes_on_each_stream_come_back_whole(either):
    size = 10 * 1024 * 1024
    done = either.play("spam", str(size), str(size))
    assert done.exit_code == 3
    assert not done.cut
    assert done.stdout == done.stderr == "0123456789abcdef" * (size // 16)


def test_more_than_the_limit_is_cut_with_a_notice_and_read_to_the_end(either):
    done = either.play("spam", "3000000", "10", runner={"output_limit": 1000})
    assert done.exit_code == 3
    assert done.cut
    kept, notice = done.stdout.rstrip("\n").split("\n")
    assert kept == ("0123456789abcdef" * 100)[:1000]
    assert notice == "[output cut: the first 1000 of 3000000 bytes are shown]"
    assert done.stderr == "0123456789"


def test_a_cut_does_not_leave_half_a_character(either):
    done = either.play("say", "ä" * 10, runner={"output_limit": 7})
    assert done.stdout.startswith("äää\n[output cut")


def test_bytes_that_are_no_text_are_replaced(either):
    assert either.play("bytes", "61ff62c3").stdout == "a\ufffdb\ufffd"


def test_threads_and_exit_functions_finish_before_the_process_does(either):
    assert either.play("late").stdout.splitlines() == ["main", "thread", "atexit"]


def test_no_two_processes_have_the_same_luck(either):
    async def some():
        async with either.runner() as runner:
            return [(await either.call(runner, "random")).stdout for _ in range(5)]

    numbers = [number for line in bounded(some()) for number in line.split()]
    assert len(set(numbers)) == 10


def test_a_missing_directory_is_an_answer(either):
    done = either.play("say", "x", cwd="/no/such/directory")
    assert done.exit_code == 126
    assert done.stdout == ""
    assert done.stderr == "error: cannot enter '/no/such/directory': No such file or directory\n"


@pytest.mark.parametrize(
    ("words", "options", "message"),
    [
        (["say", "a\0b"], {}, "NUL"),
        (["say", "\ud800"], {}, "not a text"),
        (["say"], {"cwd": "/\0"}, "NUL"),
        (["say"], {"env": {"A=B": "c"}}, "name of a variable"),
        (["say"], {"env": {"": "c"}}, "name of a variable"),
        (["say", "x" * MAX_REQUEST_BYTES], {}, "longer than"),
    ],
)
def test_what_no_process_can_be_given_is_refused(either, words, options, message):
    with pytest.raises(InvalidInput, match=message):
        either.play(*words, **options)


def test_a_long_text_still_fits(either):
    text = "x" * 100_000
    assert either.play("say", text).stdout == text


def test_a_text_too_long_for_a_cold_process_is_an_answer_there_and_no_trouble_for_a_fork(either):
    text = "x" * 900_000
    done = either.play("say", text)
    if either.options.get("fork") is False:
        assert (done.exit_code, done.stderr) == (126, "error: cannot run toy: Argument list too long\n")
    else:
        assert done.stdout == text


def test_output_is_told_as_it_comes_and_the_listener_may_fail(either):
    heard = []
    failures = []

    def hear(stream, text):
        heard.append((stream, text))
        raise RuntimeError("deaf")

    async def listen():
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: failures.append(context["exception"]))
        async with either.runner() as runner:
            return await either.call(runner, "say", "one", "two", on_output=hear)

    done = bounded(listen())
    assert (done.stdout, done.stderr) == ("one", "two")
    assert sorted(heard) == [("stderr", "two"), ("stdout", "one")]
    assert [str(failure) for failure in failures] == ["deaf", "deaf"]
