"""A session's transcript: whole entries, by iteration, whatever happens to the writer."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from binnacle.runner import transcript as module
from binnacle.runner.agents.call_details import MAX_DETAIL_CHARACTERS, diff_of
from binnacle.runner.agents.permissions import PermissionRequest, decide
from binnacle.runner.transcript import TRANSCRIPT_FILE, Transcript, TranscriptEntry, read_transcript
from binnacle.wire import acp

WRITER = """
import sys
from binnacle.runner.transcript import Transcript
from binnacle.wire import acp
with Transcript(sys.argv[1]) as transcript:
    transcript.begin_iteration(1)
    print(flush=True)
    for number in range(10**9):
        transcript.record_prompt(f"{number} " + "x" * 5000)
"""


def say(text: str) -> acp.MessageChunk:
    return acp.MessageChunk(content=acp.text_block(text))


def think(text: str) -> acp.ThoughtChunk:
    return acp.ThoughtChunk(content=acp.text_block(text))


def texts(folder: Path, **options) -> list[tuple[str, str]]:
    return [(entry.kind, entry.text) for entry in read_transcript(str(folder), **options)]


def test_everything_of_a_turn_is_there_in_order(tmp_path):
    request = PermissionRequest(tool_call_id="c", title="rm", kind="execute")
    with Transcript(str(tmp_path)) as transcript:
        transcript.begin_iteration(3)
        transcript.record_prompt("go")
        transcript.record_update(think("hm"))
        transcript.record_update(acp.Plan(entries=(acp.PlanEntry(content="one", status="completed"),)))
        transcript.record_update(acp.ToolCallStarted(tool_call_id="c", title="rm", kind="execute", raw_input={"a": 1}))
        transcript.record_decision(request, decide(request, allow=False, by="policy"))
        transcript.record_update(acp.ToolCallChanged(tool_call_id="c", status="failed", raw_output="no"))
        transcript.record_update(acp.UsageUpdate(used=5, size=10, cost=acp.Cost(amount=0.25)))
        transcript.record_end("end_turn", tokens=7)
    entries = list(read_transcript(str(tmp_path)))
    assert [entry.kind for entry in entries] == [
        "iteration", "prompt", "thought", "plan", "tool", "permission", "tool", "usage", "end",
    ]  # fmt: skip
    assert {entry.iteration for entry in entries} == {3}
    assert entries[3].steps == (("one", "completed"),)
    assert (entries[4].title, entries[4].tool, entries[4].input) == ("rm", "execute", '{"a":1}')
    assert (entries[5].is_allowed, entries[5].by) == (False, "policy")
    assert (entries[6].id, entries[6].status, entries[6].output) == ("c", "failed", "no")
    assert (entries[7].used, entries[7].cost) == (5, 0.25)
    assert (entries[8].text, entries[8].tokens) == ("end_turn", 7)


def test_a_call_has_its_arguments_its_result_and_its_diff_each_once(tmp_path):
    change = acp.ToolContent(type="diff", path="a.py", old_text="one\n", new_text="two\n")
    answer = acp.ToolContent(type="content", content=acp.text_block("written"))
    request = PermissionRequest(
        tool_call_id="c",
        title="Edit",
        kind="edit",
        diff=diff_of(acp.ToolCallFields(tool_call_id="c", content=(change,))),
    )
    with Transcript(str(tmp_path)) as transcript:
        transcript.record_update(acp.ToolCallStarted(tool_call_id="c", title="Edit", kind="edit", raw_input={"n": 1}))
        transcript.record_decision(request, decide(request, allow=True, by="person"))
        transcript.record_update(acp.ToolCallChanged(tool_call_id="c", title="Edit", content=(change,)))
        for _ in range(3):
            transcript.record_update(
                acp.ToolCallChanged(tool_call_id="c", title="Edit", status="completed", content=(change, answer))
            )
    begun, asked, ended = read_transcript(str(tmp_path))
    assert (begun.title, begun.input, begun.diff) == ("Edit", '{"n":1}', "")
    assert asked.diff == "--- a.py\n+++ a.py\n@@ -1 +1 @@\n-one\n+two"
    assert (ended.title, ended.status, ended.output, ended.diff) == ("", "completed", "written", "")


def test_pieces_of_a_message_are_one_entry_until_something_else_comes(tmp_path):
    with Transcript(str(tmp_path)) as transcript:
        for update in (say("a"), say("b"), think("c"), think("d"), say("e")):
            transcript.record_update(update)
        lines = (tmp_path / TRANSCRIPT_FILE).read_text().splitlines()
        assert [json.loads(line)["text"] for line in lines] == ["ab", "cd"]
    assert texts(tmp_path) == [("message", "ab"), ("thought", "cd"), ("message", "e")]


def test_a_long_message_is_written_before_it_ends_and_read_as_one(tmp_path):
    with Transcript(str(tmp_path)) as transcript:
        for _ in range(100):
            transcript.record_update(say("x" * 1000))
        assert len((tmp_path / TRANSCRIPT_FILE).read_bytes().splitlines()) > 10
    assert texts(tmp_path) == [("message", "x" * 100_000)]


def test_a_message_is_written_soon_although_nothing_follows(tmp_path):
    async def say_and_wait() -> None:
        loop, written = asyncio.get_running_loop(), asyncio.Event()

        def call_later(seconds, flush):
            return loop.call_later(seconds, lambda: (flush(), written.set()))

        with Transcript(str(tmp_path), call_later=call_later) as transcript:
            transcript.record_update(say("a"))
            transcript.record_update(say("b"))
            assert texts(tmp_path) == []
            await asyncio.wait_for(written.wait(), 60)
            assert texts(tmp_path) == [("message", "ab")]
            transcript.record_update(say("c"))
        assert texts(tmp_path) == [("message", "abc")]

    asyncio.run(say_and_wait())


def test_one_iteration_can_be_read(tmp_path):
    with Transcript(str(tmp_path)) as transcript:
        for number in (1, 2, 3):
            transcript.begin_iteration(number)
            transcript.record_update(say(f"of {number}"))
    assert texts(tmp_path, iteration=2) == [("iteration", ""), ("message", "of 2")]


def test_progress_of_a_call_that_says_nothing_new_is_left_out(tmp_path):
    with Transcript(str(tmp_path)) as transcript:
        transcript.record_update(acp.ToolCallStarted(tool_call_id="c", title="x", status="pending"))
        for _ in range(5):
            transcript.record_update(acp.ToolCallChanged(tool_call_id="c", status="in_progress"))
        transcript.record_update(acp.ToolCallChanged(tool_call_id="c", status="completed"))
    assert [entry.status for entry in read_transcript(str(tmp_path))] == ["pending", "in_progress", "completed"]


def test_a_usage_that_did_not_change_is_left_out(tmp_path):
    with Transcript(str(tmp_path)) as transcript:
        for used in (1, 1, 2, 2):
            transcript.record_update(acp.UsageUpdate(used=used, size=10))
    assert [entry.used for entry in read_transcript(str(tmp_path))] == [1, 2]


def test_long_results_are_clipped(tmp_path):
    with Transcript(str(tmp_path)) as transcript:
        transcript.record_update(acp.ToolCallChanged(tool_call_id="c", status="completed", raw_output="x" * 1_000_000))
    (entry,) = read_transcript(str(tmp_path))
    assert entry.output.endswith(f"… ({1_000_000 - MAX_DETAIL_CHARACTERS} more characters)")


def test_an_iteration_that_floods_is_cut_and_the_next_is_not(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_ITERATION_BYTES", 10_000)
    with Transcript(str(tmp_path)) as transcript:
        transcript.begin_iteration(1)
        for _ in range(100):
            transcript.record_update(say("x" * 9000))
        transcript.begin_iteration(2)
        transcript.record_update(say("fine"))
    assert (tmp_path / TRANSCRIPT_FILE).stat().st_size < 40_000
    assert [entry.kind for entry in read_transcript(str(tmp_path), iteration=1)][-1] == "cut"
    assert texts(tmp_path, iteration=2) == [("iteration", ""), ("message", "fine")]


def test_there_may_be_none(tmp_path):
    assert list(read_transcript(str(tmp_path / "nowhere"))) == []


@pytest.mark.parametrize("torn", [b'{"at":"now","iter', b"\xff\xfe", b"{}", b"[" * 5000])
def test_a_torn_line_is_passed_over_and_hurts_no_other(tmp_path, torn):
    with Transcript(str(tmp_path)) as transcript:
        transcript.record_update(say("before"))
    with (tmp_path / TRANSCRIPT_FILE).open("ab") as file:
        file.write(torn)
    assert texts(tmp_path) == [("message", "before")]
    with Transcript(str(tmp_path)) as transcript:
        transcript.record_prompt("after")
    assert texts(tmp_path) == [("message", "before"), ("prompt", "after")]


def test_a_writer_may_be_killed_at_any_moment(tmp_path):
    for round_number in range(5):
        command = [sys.executable, "-c", WRITER, str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            written = random.Random(round_number).randrange(1 << 20)
            start = (tmp_path / TRANSCRIPT_FILE).stat().st_size
            while (tmp_path / TRANSCRIPT_FILE).stat().st_size - start < written:
                os.sched_yield()
            writer.send_signal(signal.SIGKILL)
    entries = list(read_transcript(str(tmp_path)))
    assert [entry.kind for entry in entries].count("iteration") == 5
    assert all(isinstance(entry, TranscriptEntry) for entry in entries)
    numbers = [int(entry.text.split()[0]) for entry in entries if entry.kind == "prompt"]
    assert all(after in (before + 1, 0) for before, after in pairwise(numbers))
