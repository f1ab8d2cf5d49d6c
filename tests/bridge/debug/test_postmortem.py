"""What programs did under the debugger can be asked about afterwards."""

import os

import pytest

from binnacle.bridge.debug import session_recorder
from binnacle.bridge.debug.session_recorder import SessionRecorder


@pytest.fixture
def crashed(desk):
    """A session that stopped at an exception and ended with it."""
    desk("debug.start", program="crash.py")
    desk("debug.continue")
    return desk


def test_a_summary_tells_how_it_went(crashed):
    told = crashed("dap.summary")
    assert told["sessionId"] == "1"
    assert told["title"] == "crash.py"
    assert told["exitCode"] == 1
    assert told["stops"] == 1
    assert told["lastException"]["type"] == "ZeroDivisionError"
    assert "divide at crash.py:5" in told["lastStops"][0]
    assert told["events"]["stopped"] == 1
    assert "events" not in crashed("dap.summary", compact=True)
    crashed.fails("E_INVALID_SESSION_ID", "dap.summary", sessionId="9")


def test_recordings_outlive_the_host(crashed):
    crashed.restart()
    assert crashed("dap.summary")["exitCode"] == 1
    crashed("debug.start", program="shop.py")
    assert crashed("dap.summary")["sessionId"] == "2"
    assert crashed("dap.summary", sessionId="1")["title"] == "crash.py"


def test_output_is_shown_by_lines(crashed):
    told = crashed("dap.logs", category="stdout")
    assert [line["text"] for line in told["lines"]] == ["before"]
    assert crashed("dap.logs", search="WARNING")["lines"][0]["category"] == "stderr"
    last = crashed("dap.logs", count=2, reverse=True)
    assert len(last["lines"]) == 2
    assert last["lines"][0]["at"] >= last["lines"][1]["at"]
    assert last["total"] > 2
    crashed.fails("E_NO_LOGS", "dap.logs", search="nothing like it")
    crashed.fails("E_NO_LOGS", "dap.logs", since="2999-01-01T00:00:00Z")
    crashed.fails("E_INVALID_PARAM", "dap.logs", since="yesterday")
    assert crashed("dap.logs", since="0")["total"] == last["total"]


def test_output_is_searched(crashed):
    told = crashed("dap.search", pattern="zero.*error", contextLines=1)
    assert told["total"] == 1
    assert told["matches"][0]["before"]
    crashed.fails("E_NO_RESULTS", "dap.search", pattern="zero.*error", caseSensitive=True)
    crashed.fails("E_INVALID_REGEX", "dap.search", pattern="(")


def test_exceptions_are_those_it_stopped_at_and_those_it_printed(crashed):
    told = crashed("dap.exceptions")
    assert [one["seen"] for one in told["exceptions"]] == ["stop", "output"]
    assert {one["type"] for one in told["exceptions"]} == {"ZeroDivisionError"}
    assert told["exceptions"][0]["frames"][0]["line"] == 5
    assert "before" in told["exceptions"][0]["before"]
    assert "before" not in crashed("dap.exceptions", withContext=False)["exceptions"][0]
    crashed("debug.start", program="shop.py")
    crashed.fails("E_NO_EXCEPTIONS", "dap.exceptions")


def test_a_timeline_tells_what_happened_in_order(crashed):
    told = crashed("dap.timeline", granularity="milestones")
    kinds = [event["type"] for event in told["events"]]
    assert kinds[0] == "session"
    assert kinds[-1] == "end"
    assert kinds.index("stop") < kinds.index("exited")
    assert crashed("dap.timeline", granularity="summary")["counts"]["stop"] == 1
    assert {one["type"] for one in crashed("dap.timeline", eventTypes=["output"])["events"]} == {"output"}
    assert crashed("dap.timeline", window=1, fromEnd=True)["events"][-1]["type"] == "end"
    crashed.fails("E_NO_EVENTS", "dap.timeline", eventTypes=["nothing"])


def test_output_is_counted(crashed):
    told = crashed("dap.stats")
    assert told["counts"]["stdout"] == 1
    assert told["counts"]["stderr"] > 1
    assert told["chart"][0].startswith("stderr")
    assert "chart" not in crashed("dap.stats", groupBy="hour", includeCharts=False)
    assert set(crashed("dap.stats", groupBy="session")["counts"]) == {"1"}
    assert crashed("dap.stats", groupBy="source")["counts"]
    crashed.fails("E_INVALID_GROUP_BY", "dap.stats", groupBy="colour")


def test_output_is_filtered_by_several_conditions(crashed):
    told = crashed("dap.filter", filters={"categories": ["stderr"], "include": "a", "exclude": "Traceback|File"})
    texts = [line["text"] for line in told["lines"]]
    assert "a warning" in texts
    assert not any("File" in text for text in texts)
    assert crashed("dap.filter", filters={"timeRange": {"from": 0}})["total"] > 2
    crashed.fails("E_NO_RESULTS", "dap.filter", filters={"include": "nothing like it"})
    crashed.fails("E_INVALID_FILTERS", "dap.filter", filters={"colour": "red"})
    crashed.fails("E_INVALID_FILTERS", "dap.filter", filters={"include": "("})


def test_two_sessions_are_compared(crashed):
    crashed("debug.start", program="shop.py")
    told = crashed("dap.compare", sessionA="1", sessionB="2")
    assert (told["a"]["exitCode"], told["b"]["exitCode"]) == (1, 0)
    told = crashed("dap.compare", sessionA="1", sessionB="2", compareBy="outputs")
    assert "before" in told["onlyA"]
    assert "open" in told["onlyB"]
    assert "ZeroDivisionError" in crashed("dap.compare", sessionA="1", sessionB="2", compareBy="exceptions")["onlyA"][0]
    assert "divide" in crashed("dap.compare", sessionA="1", sessionB="2", compareBy="timeline")["onlyA"][0]
    crashed.fails("E_SESSION_NOT_FOUND", "dap.compare", sessionA="1", sessionB="9")


def test_without_a_recording_there_is_nothing_to_tell(desk):
    for script in ("dap.summary", "dap.logs", "dap.exceptions", "dap.timeline"):
        assert "debug_start" in desk.fails("E_NO_SESSION", script).hint


def test_recordings_are_bounded_in_size_and_number(tmp_path, monkeypatch):
    monkeypatch.setattr(session_recorder, "MAX_RECORDING_BYTES", 2000)
    monkeypatch.setattr(session_recorder, "MAX_RECORDING_BYTES_WITH_END", 3000)
    monkeypatch.setattr(session_recorder, "KEPT_RECORDINGS", 3)
    for number in range(1, 6):
        recorder = SessionRecorder(str(tmp_path), {"title": "x"})
        assert recorder.id == str(number)
        for _ in range(100):
            recorder.write("1", "output", {"category": "stdout", "output": "y" * 10_000})
        recorder.write("1", "end", {"exitCode": 0})
        recorder.close()
    assert session_recorder.list_recordings(str(tmp_path)) == [3, 4, 5]
    entries = session_recorder.read_recording(str(tmp_path), 5)
    assert [entry["type"] for entry in entries] == ["session", "output"]
    assert os.path.getsize(session_recorder.recording_path(str(tmp_path), 5)) < 10_000


def test_a_recording_that_a_crash_cut_off_is_read_as_far_as_it_goes(crashed):
    path = session_recorder.recording_path(os.path.join(crashed.debugger.folder, "sessions"), 1)
    with open(path, "ab") as file:
        file.write(b'{"at": 1, "type')
    assert crashed("dap.summary")["exitCode"] == 1


def test_a_place_that_cannot_be_written_to_is_no_reason_to_fail(desk):
    os.makedirs(desk.debugger.folder)
    with open(os.path.join(desk.debugger.folder, "sessions"), "w", encoding="ascii"):
        pass
    assert desk("debug.start", program="shop.py")["exitCode"] == 0
