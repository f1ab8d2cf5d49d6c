"""`bn report`: a run as Markdown, as a page and as JSON, whatever its tasks and agents wrote."""

import json
import os
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

import forked_bn
from binnacle.app.run_report import hostile_text
from binnacle.project.store_opening import open_store
from binnacle.runner import run_events
from binnacle.store import attention, questions, runs, task_moves, tasks
from binnacle.work.actor import Actor
from binnacle.work.task import NewTask
from runner.checked_plays import CheckedPlay
from runner.plays import PERSON, Play

pytestmark = pytest.mark.usefixtures("nothing_is_left")

GOLDEN = Path(__file__).parent / "run_report.md"

HOSTILE = (
    "<script>alert(1)</script> ![x](http://evil.example/p.png) [y](javascript:alert(1)) `code` | # head\n"
    "## heading\n\n---\n</details> \x1b[31mred\x1b[0m \u202edesrever <img src=x onerror=alert(1)> &lt;b&gt; $x$"
)

SPEC = """# Words

- R1: there is a word one
- R2: there is a word two
- R3: there is a word three
"""

SCRIPT = """
if not agent.task and agent.times("planned") == 1:
    agent.call("task-add", tasks=[
        {"title": "Write one", "covers": ["R1"]}, {"title": "Write two", "covers": ["R2"], "priority": 3},
    ])
    agent.call("iteration-summary", summary="planned")
    agent.cost(0.25)
elif agent.title == "Write one" and agent.times("one") == 1:
    agent.cost(0.5)
    agent.call("task-update", id=agent.task, status="partial", reason="the parser is missing")
    agent.call("iteration-summary", summary="half of it")
elif agent.title == "Write one":
    agent.write("one.txt", "one\\n")
    agent.call("task-update", id=agent.task, status="done", reason="the word is in one.txt")
    agent.call("iteration-summary", summary="wrote one")
    agent.cost(1.0)
    agent.tokens(1500)
else:
    agent.call("iteration-summary", summary="tried")
"""

FIXES_IT = """
agent.write("work.txt", "bad\\n" if agent.times("turn") == 1 else "good\\n")
agent.done()
"""


class PageReader(HTMLParser):
    """Collects what is in a page, and checks that every element is closed in its turn."""

    VOID = ("meta", "link", "img", "br", "hr", "input")

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def check_page(page: str) -> PageReader:
    """A page is well formed, has no script and nothing from elsewhere, and says so to the browser."""
    read = PageReader(page)
    assert not {"script", "img", "iframe", "link", "object", "embed", "a", "base", "form", "svg"} & {*read.elements}
    names = {name for name, _ in read.attributes}
    assert not [name for name in names if name.startswith("on") or name in ("src", "href", "style", "srcset", "action")]
    policy = next(value for name, value in read.attributes if name == "content" and value and "default-src" in value)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    style = page[page.index("<style>") : page.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    return read


def report(play: Play, *words: str, folder: Path | None = None) -> str:
    done = forked_bn.run(
        [forked_bn.BN, "report", *words], stdin=b"", timeout=60, cwd=folder or play.runs.repo.path
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def without_chance(text: str) -> str:
    """A report with ids, commits and times that are the same each time."""
    for kind, pattern in (("bn", r"\bbn-[0-9a-f]+\b"), ("bnq", r"\bbnq-[0-9a-f]+\b"), ("commit", r"\b[0-9a-f]{10}\b")):
        for number, one in enumerate(dict.fromkeys(re.findall(pattern, text)), 1):
            text = text.replace(one, f"{kind}-{number}")
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "TIME", text)
    text = re.sub(r"\b\d+ (?:s|min|h)(?: \d+ s)?(?=[ ,\n])", "DURATION", text)
    return re.sub(r"python[0-9.]*", "AGENT", text)


def test_a_report_says_what_was_asked_done_changed_spent_what_failed_and_what_waits(shared_play):
    play = shared_play
    ended = play.run(SCRIPT, spec=SPEC, spec_file="words.md", auto_commit=True, allows_gaps=True, max_attempts=2)
    assert ended.why == "needs_input"
    text = without_chance(report(play))
    if os.environ.get("BN_WRITE_SNAPSHOTS"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()
    found = json.loads(report(play, "words", "--json"))
    assert [one["id"] for one in found["asked"]["requirements"] if not one.get("tasks")] == ["R3"]
    assert found["changes"]["insertions"] == 1
    page = check_page(report(play, "--html"))
    for wanted in ("Write one", "the word is in one.txt", "the parser is missing", "1.75 USD", "one.txt", "R3"):
        assert wanted in page.text, wanted


def test_a_report_says_how_well_it_is_known_what_is_done(shared_play):
    checked = CheckedPlay(shared_play)
    (task,) = checked.add("the work")
    assert checked.run(FIXES_IT, name="words").why == "complete"
    commit = checked.task(task).evidence_commit
    text = report(shared_play, "words")
    assert "- Tasks: 1 done: 1 checked; 0 open" in text
    assert f"done, **checked as merged at {commit[:8]}, 20" in text
    assert "✗ check `words`: fail (exit code 1), at `" in text
    assert f"✓ check `words`: pass (exit code 0; how many tests ran is not known), at `{commit[:8]}`" in text
    assert "Only said" not in text
    page = check_page(report(shared_play, "words", "--html"))
    assert f"checked as merged at {commit[:8]}" in page.text
    assert "✗ check words: fail (exit code 1)" in page.text
    (found,) = json.loads(report(shared_play, "words", "--json"))["tasks"]
    assert (found["level"], found["level_commit"]) == ("merged", commit)
    assert found["checks"][0]["verdict"] == "fail (exit code 1)"


def test_a_report_says_what_an_agent_tested_by_itself_where_nothing_else_shows_the_work(play):
    play.add(NewTask(title="the work"))
    script = """
agent.write("work.txt", "good\\n")
agent.tool("Shell", given={"command": "pytest -q"}, rawOutput={"exit_code": 0})
agent.done()
"""
    assert play.run(script, name="words", has_worktree=True).why == "unproven"
    text = report(play, "words")
    assert "1 done: 1 only observed" in text
    assert "### Only observed" in text
    assert "  - `pytest -q` ended with 0" in text
    assert "Only said" not in text
    assert "pytest -q ended with 0" in check_page(report(play, "words", "--html")).text


def test_a_report_names_who_waived_what_a_task_had_to_prove_and_why(play):
    checked = CheckedPlay(play)
    (task,) = checked.add("the work")
    assert checked.run("agent.done()", max_attempts=1).why == "needs_input"
    with open_store(play.runs.project) as store, store.write(by=PERSON) as tx:
        task_moves.finish(tx, task, reason="good enough", waive="it is only for <me>", force=True)
    text = report(play)
    assert "- Tasks: 1 done: 1 waived; 0 open" in text
    assert "  - waived by ann: it is only for \\<me\\>" in text
    assert "waived by ann: it is only for <me>" in check_page(report(play, "words", "--html")).text


def test_hostile_text_changes_nothing_but_itself(play):
    (task,) = play.add(NewTask(title=HOSTILE.replace("\n", " ")[:290], description=HOSTILE))
    hostile_path = "a|b`c<script>](x).txt"
    script = f"""
if agent.times("turn") == 1:
    agent.call("task-update", id=agent.task, status="partial", reason={HOSTILE!r})
    agent.call("iteration-summary", summary={HOSTILE!r})
else:
    agent.write({hostile_path!r}, "x")
    agent.call("task-update", id=agent.task, status="done", reason={HOSTILE!r})
    agent.call("iteration-summary", summary={HOSTILE!r})
    agent.cost(1.0, "<b>|`x")
"""
    assert play.run(script, auto_commit=True).why == "unproven"
    with open_store(play.runs.project) as store, store.write(by=Actor("eve")) as tx:
        questions.ask(tx, task, HOSTILE, blocking=False)
        attention.open_entry(tx, "permission", HOSTILE, body=HOSTILE, run=runs.find(tx, "words").id)
        tasks.add(tx, [NewTask(title="> " + HOSTILE.replace("\n", " ")[:200])])
    text = report(play)
    assert "- permission: \\<script\\>" in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    tokens = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(text)
    kinds = {token.type for token in tokens} | {inner.type for token in tokens for inner in token.children or ()}
    assert not kinds & {"html_block", "html_inline", "image", "link_open", "hr"}
    headings = [tokens[place + 1].content for place, one in enumerate(tokens) if one.type == "heading_open"]
    titles = ["Run words", "Asked", "Done", "Only said", "Changed", "Spent", "Failed", "What waits for you"]
    assert headings == titles
    rows = {len(row.split(" | ")) for row in re.sub(r"\\\|", "", text).splitlines() if row.startswith("| `")}
    assert rows == {3}, "no cell of commits and files is divided"
    page = check_page(report(play, "--html"))
    assert "<script>alert(1)</script>" in page.text
    assert hostile_path in page.text
    assert json.loads(report(play, "--json"))["tasks"][0]["closing"].startswith("<script>")


@given(st.text(max_size=200))
def test_any_text_is_shown_as_it_is_read(text):
    """As an entry of a list it is one line of text: neither another entry, nor anything else."""
    tokens = MarkdownIt("commonmark").parse(f"- {hostile_text.markdown(text)}")
    kinds = [token.type for token in tokens if token.nesting >= 0]
    line = hostile_text.clean_line(text)
    if line:
        assert kinds == ["bullet_list_open", "list_item_open", "paragraph_open", "inline"]
        (inline,) = (token for token in tokens if token.type == "inline")
        assert {one.type for one in inline.children} <= {"text", "text_special"}
        assert "".join(one.content for one in inline.children) == line
    else:
        assert kinds == ["bullet_list_open", "list_item_open"]


def test_a_run_under_way_has_a_report(play):
    play.add(NewTask(title="Write one"), NewTask(title="Write two"))
    seen: list[str] = []

    def look(event, control):
        if isinstance(event, run_events.AttemptEnded) and not seen:
            seen.append(report(play))

    script = "agent.write(agent.task, 'x')\nagent.done()"
    assert play.run(script, workers=2, on=look).why == "unproven"
    assert "**under way**" in seen[0]
    assert "Tasks: 1 done: 1 only said; 1 open" in seen[0]
    after = report(play)
    assert "**unproven: 2 done: 2 only said**" in after
    assert "2 files, 2 insertions" in after


def test_changes_that_are_not_here_are_said_to_be_elsewhere(play, tmp_path):
    play.add(NewTask(title="Write one"))
    assert play.run("agent.write('one', 'x')\nagent.done()", auto_commit=True).why == "unproven"
    shutil.rmtree(play.runs.repo.path / ".git")
    assert "this folder is not in a git repository" in report(play)


def test_commits_of_another_machine_are_not_invented(play):
    play.add(NewTask(title="Write one"))
    assert play.run("agent.write('one', 'x')\nagent.done()", auto_commit=True).why == "unproven"
    with open_store(play.runs.project) as store, store.write(by=PERSON) as tx:
        tx.run("update run set base = ?, head = ?", "1" * 40, "2" * 40)
        tx.run("update session set place = ?", "elsewhere:/home/ann/words")
    assert "not in this repository: it worked in elsewhere:/home/ann/words" in report(play)


def test_work_that_is_not_in_the_branch_of_the_person_is_named(play):
    play.add(NewTask(title="Write one"))
    ended = play.run("agent.write('one', 'x')\nagent.done()", has_worktree=True)
    assert ended.why == "unproven"
    text = report(play)
    assert "Not in your branch: `bn/words/run`" in text
    assert "on the branch `bn/words/run`" in text


def test_what_is_not_committed_is_named(play):
    play.add(NewTask(title="Write one"))
    assert play.run("agent.write('one.txt', 'x')\nagent.done()").why == "unproven"
    assert "Not committed, in the folder of the project:\n\n- `one.txt`" in report(play)


def test_a_page_is_written_to_a_file(play, tmp_path):
    play.add(NewTask(title="Write one"))
    assert play.run("agent.done()").why == "unproven"
    path = tmp_path / "words.html"
    report(play, "words", "--html", str(path))
    check_page(path.read_text())
    refused = forked_bn.run(
        [forked_bn.BN, "report", "--html", "words"], stdin=b"", timeout=60, cwd=play.runs.repo.path
    )  # fmt: skip
    assert (refused.returncode, b"name the run first" in refused.stderr) == (2, True)


def test_without_a_run_there_is_no_report(play):
    done = forked_bn.run([forked_bn.BN, "report"], stdin=b"", timeout=60, cwd=play.runs.repo.path)
    assert done.returncode == 1
    assert b"bn run SPEC" in done.stderr
