"""Every event that the store records reads as a sentence."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

import binnacle
from binnacle.work.event_sentences import _SENTENCES, describe
from binnacle.work.journal import Event

COMMIT = "1a2b3c4d" * 5
TITLES = {"bn-1f3a": "Fix the login"}
TASK = 'bn-1f3a "Fix the login"'


def say(entity, action, entity_id="x-1", **changes):
    event = Event(
        seq=1, at=datetime.now(UTC), actor="ann", entity=entity, entity_id=entity_id, action=action, changes=changes
    )
    return describe(event, TITLES)


@pytest.mark.parametrize(
    ("entity", "action", "changes", "said"),
    [
        ("evidence", "checked", {"check": "tests", "verdict": "pass", "commit": COMMIT, "task": "bn-1f3a"},
         f"saw the check tests pass at 1a2b3c4d for {TASK}"),
        ("evidence", "checked", {"check": "tests", "verdict": "fail", "commit": COMMIT},
         "saw the check tests fail at 1a2b3c4d"),
        ("evidence", "checked", {"check": "tests", "verdict": "could_not_run"}, "could not run the check tests"),
        ("evidence", "checked", {"check": "tests", "verdict": "flaky"},
         "saw the check tests fail and then pass: it is flaky"),
        ("report", "reported", {"task": "bn-1f3a", "kind": "done", "summary": "built"}, f"reported {TASK} done: built"),
        ("report", "settled", {"task": "bn-1f3a", "kind": "done", "outcome": "left", "note": "no test ran"},
         f"did not close {TASK}, although it was reported done: no test ran"),
        ("review", "opened", {"task": "bn-1f3a", "commit": COMMIT, "require": "person", "reason": "touches CI"},
         f"put {TASK} at 1a2b3c4d up for review by person: touches CI"),
        ("review", "accepted", {"task": "bn-1f3a", "commit": COMMIT, "message": "well done"},
         f"accepted {TASK} at 1a2b3c4d: well done"),
        ("review", "changes", {"task": "bn-1f3a", "commit": COMMIT}, f"asked for changes of {TASK} at 1a2b3c4d"),
        ("review_remark", "added", {"task": "bn-1f3a", "place": "a.py:3", "body": "why?"},
         f"commented on the change of {TASK} at a.py:3: why?"),
        ("quarantine", "added", {"test": "a::b", "owner": "ann", "ends_at": "2026-12-01"},
         "put the test a::b of the check x-1 into quarantine until 2026-12-01 (owner: ann)"),
        ("session", "attempt", {"number": 2, "task": "bn-1f3a", "outcome": "unfinished"},
         f"ended an attempt at {TASK} in session x-1: unfinished"),
        ("session", "iteration", {"number": 2}, "began iteration 2 of session x-1"),
        ("run", "ended", {"why": "unproven", "said": "2 done: 2 only said"},
         "ended run x-1: unproven: 2 done: 2 only said"),
    ],
)  # fmt: skip
def test_what_was_seen_and_decided_is_told(entity, action, changes, said):
    assert say(entity, action, **changes) == said


def test_a_task_that_is_done_says_how_well_that_is_known():
    said = say("task", "done", "bn-1f3a", level="merged", commit=COMMIT, reason="built")
    assert said == f"finished {TASK} (checked as merged at 1a2b3c4d): built"
    assert say("task", "done", "bn-1f3a", reason="built") == f"finished {TASK}: built"
    waived = say("task", "waived", "bn-1f3a", reason="no display here", checks=["tests"])
    assert waived == f"waived the checks of {TASK}: no display here"


def test_braces_in_what_was_said_are_left_alone():
    said = say("report", "reported", task="bn-1f3a", kind="done", summary="{id} {0.__class__} {")
    assert said == f"reported {TASK} done: {{id}} {{0.__class__}} {{"


PLAIN = {"task", "comment", "question", "progress", "feature", "discipline", "note", "learning", "trust", "agent"}
"""What is told by its action, its name and its id: `added feature auth`."""


def test_every_kind_of_event_has_a_sentence():
    source = Path(binnacle.__file__).parent
    recorded = {
        found for path in source.rglob("*.py") for found in re.findall(r'\.record\(\s*"(\w+)"', path.read_text())
    }
    assert {"evidence", "review", "session"} <= recorded
    assert recorded - PLAIN - {"evidence"} <= {entity for entity, _ in _SENTENCES}
