"""Whatever a store, an agent or a file says: a terminal obeys none of it, and shows every line as one line."""

import ast
import hashlib
import io
import json
import re
import sqlite3
from pathlib import Path

import pytest

import binnacle.cli
from binnacle.cli.escaping import escape_for_terminal
from binnacle.cli.run_footer import FooterQuestion, FooterState, footer
from binnacle.cli.run_lines import RunLines, show_end
from binnacle.cli.screen import Screen
from binnacle.runner import run_events
from cli.terminal import run_on_terminal

HOSTILE = "\x1b[2J\x1b[31mred\x1b]0;title\x07 \x9b2J \x7f\x08\r \u202eevil\u2066 \u200b\nnext"
"""Erases the screen, colours, renames the window, by C0 and C1; turns the direction; begins a line."""

STYLE = re.compile(r"\x1b\[(?:0|1|2|3[1-6])m")

COLUMNS = {
    "task": ("title", "description", "claimed_by"),
    "comment": ("body", "author"),
    "note": ("content", "author"),
    "learning": ("text", "reason"),
    "feature": ("title", "description"),
    "agent": ("name", "client"),
    "session": ("name", "reason"),
    "question": ("text", "asked_by"),
    "event": ("actor",),
}

READING = [
    "status", "ready", "next", "blocked", "queue list", "task list --all", "task show {task}", "task dep tree {task}",
    "graph", "graph --format mermaid", "graph --format dot", "feature list", "feature show login", "discipline list",
    "learning list", "note list", "log", "session list", "agent list", "ask list --all", "search words", "store show",
    "store list", "doctor", "config list", "plan show", "orient",
]  # fmt: skip


def assert_harmless(text: str) -> None:
    """There is nothing but what can be seen, our own styles, and ends of lines."""
    left = STYLE.sub("", text).replace("\n", "")
    assert left.isprintable(), [c for c in left if not c.isprintable()]


@pytest.fixture
def hostile(bn) -> str:
    """A store full of hostile text. Returns the id of a task."""
    bn("feature", "add", "login")
    one = bn.add("One of the words", "-f", "login")
    bn.add("Two words", "--after", one)
    bn("task", "comment", one, "some words")
    bn("note", "add", "a note of words")
    bn("learning", "add", "learned words")
    bn.agent("helper")
    with sqlite3.connect(bn("store", "show")["location"]) as db:
        for table, columns in COLUMNS.items():
            known = {row[1] for row in db.execute(f"pragma table_info({table})")}
            for column in known.intersection(columns):
                db.execute(f"update {table} set {column} = {column} || ? where {column} is not null", (HOSTILE,))
    db.close()
    return one


@pytest.mark.parametrize("colour", ["", "1"])
def test_no_command_lets_hostile_text_reach_the_terminal(bn, hostile, colour):
    shown = ""
    for words in READING:
        done = bn.run(*words.format(task=hostile).split(), "-H", env={"FORCE_COLOR": colour})
        assert "unexpected" not in done.err, (words, done.err)
        assert_harmless(done.out)
        assert_harmless(done.err)
        shown += done.out
    assert "evil" in shown
    assert ("\x1b[" in shown) is bool(colour)


def test_a_line_of_hostile_text_stays_one_line(bn, hostile):
    rows = [line for line in bn.human("task", "list").splitlines() if hostile in line]
    assert len(rows) == 1
    assert "next" in rows[0]


@pytest.mark.parametrize(
    "words", [["task", "show", HOSTILE], ["feature", "show", HOSTILE], [HOSTILE], ["-C", HOSTILE, "ready"]]
)
def test_errors_are_harmless_too(bn, words):
    words = [word.replace("\x00", "") for word in words]
    for flags in ([], ["-H"]):
        done = bn.run(*flags, *words)
        assert done.code
        assert_harmless(done.err)


def on_a_terminal(bn, *words: str) -> str:
    """What `bn` prints where its output is a terminal, in a run that must succeed."""
    shown = run_on_terminal(bn, *words)
    assert shown.code == 0, shown
    return shown.screen


def test_json_on_a_terminal_escapes_what_a_terminal_obeys_and_means_the_same(bn, hostile):
    shown = on_a_terminal(bn, "task", "show", hostile, "--json")
    assert_harmless(shown)
    assert json.loads(shown) == bn("task", "show", hostile)


@pytest.mark.parametrize("text", ["plain", "grüße 😀", HOSTILE, "\U000e0001\U0001f600\x7f"])
def test_escaped_json_is_the_same_value(text):
    escaped = escape_for_terminal(json.dumps([text], ensure_ascii=False).encode())
    assert json.loads(escaped) == [text]
    assert_harmless(escaped.decode())


def test_a_run_shows_what_agents_say_without_obeying_it(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    screen = Screen(stream)
    lines = RunLines(screen)
    told = [
        run_events.RunStarted(session=HOSTILE, name=HOSTILE, agent=HOSTILE, recipe="loop", goes_on=False),
        run_events.AgentSaid(worker=1, text=f"{HOSTILE}\n{HOSTILE}", is_thought=False),
        run_events.ToolCalled(worker=1, id="1", title=HOSTILE, status="failed"),
        run_events.TaskMoved(task="bn-1", title=HOSTILE, status="done"),
        run_events.WarningReported(message=HOSTILE, hint=HOSTILE),
        run_events.AttemptEnded(number=1, task="bn-1", outcome="unfinished", reason=HOSTILE),
    ]
    for event in told:
        lines.tell(event)
    ended = run_events.RunEnded(
        session="s", name=HOSTILE, why="error", said=HOSTILE, iterations=1, closed=0, left=1, seconds=1.0,
        kept=(HOSTILE, f"refs/{HOSTILE}"), behind=HOSTILE, waiting=(HOSTILE,), hint=HOSTILE,
    )  # fmt: skip
    show_end(ended, screen)
    known = FooterState(name=HOSTILE, agent=HOSTILE, tasks={HOSTILE: HOSTILE}, tools={1: HOSTILE})
    questions = (None, FooterQuestion(HOSTILE), FooterQuestion(HOSTILE, detail=HOSTILE, keys=("y yes",)))
    for known.question in questions:
        for line in footer(known, width=80):
            screen.line(screen.styled(line.text, line.style))
    shown = stream.buffer.getvalue().decode()
    assert_harmless(shown)
    assert shown.count("evil") > 10


def test_text_cannot_pretend_to_be_a_style(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    screen = Screen(stream)
    screen.line(f"{screen.styled('ours', 'red')} \x1b[31mtheirs\x1b[0m")
    assert stream.buffer.getvalue() == b"\x1b[31mours\x1b[0m  [31mtheirs [0m\n"


def _reseal(exported: bytes) -> bytes:
    """An export that was changed, with the checksums that go with what it says now."""
    manifest, *lines, last = exported.splitlines(keepends=True)
    digests = {name: hashlib.sha256() for name in json.loads(last)["checksums"]}
    for line in lines:
        digests[next(iter(json.loads(line)))].update(line)
    sums = {"checksums": {name: digest.hexdigest() for name, digest in digests.items()}}
    return b"".join([manifest, *lines, json.dumps(sums).encode() + b"\n"])


def test_an_import_keeps_nothing_that_a_terminal_obeys(bn, tmp_path):
    bn(
        "task",
        "add",
        "--from",
        "-",
        stdin=json.dumps([{"title": "Grüße WORD", "description": "DESC", "tags": ["TAG"]}]),
    )
    bn("note", "add", "NOTE")
    file = tmp_path / "export"
    bn("store", "export", str(file))
    content = file.read_bytes()
    inside = json.dumps(HOSTILE, ensure_ascii=False)[1:-1].encode()
    for word in (b"WORD", b"DESC", b"TAG", b"NOTE"):
        content = content.replace(word, word + inside)
    file.write_bytes(_reseal(content))
    new = {**bn.env, "BN_DATA_DIR": str(tmp_path / "other")}
    bn("store", "import", str(file), env=new)
    for words in (["task", "list"], ["note", "list"], ["log"]):
        shown = bn.run(*words, env=new).out
        assert "evil" in shown
        assert "Grüße" in shown or words != ["task", "list"]
        kept = json.dumps(json.loads(shown), ensure_ascii=False).replace("\\n", "").replace("\\u200b", "")
        assert not re.search(r"\\u00|\\b|\\r|[\x7f-\x9f\u202a-\u202e\u2066-\u2069]", kept), kept


WRITERS = {
    "main.py", "screen.py", "progress_bar.py", "run_view.py", "mcp.py", "completion.py", "emit.py", "upstream_live.py",
    "upstream_login.py", "report.py", "gui.py", "run.py",
}  # fmt: skip
"""Where text is written past a screen: JSON, what we made ourselves, or what passed `printable` in the same line."""


def is_fixed(text: ast.expr) -> bool:
    """Whether nothing but words of ours are written."""
    return all(
        isinstance(one, ast.Constant) for one in ((text.body, text.orelse) if isinstance(text, ast.IfExp) else (text,))
    )


def test_views_write_on_a_screen_and_nowhere_else():
    found = set()
    for file in Path(binnacle.cli.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            called = ast.unparse(node.func)
            if called in ("print", "sys.stdout.write", "sys.stderr.write") and not is_fixed(node.args[0]):
                found.add(file.name)
    assert found <= WRITERS
