"""What programs and people get to read."""

import json
import os
import pty
import select
import subprocess
import time

from cli.conftest import BN


def on_a_terminal(bn, *words: str, columns: int = 80) -> str:
    """What `bn` writes when its output is a real terminal."""
    leader, follower = pty.openpty()
    env = bn.env | {"TERM": "xterm-256color"}
    env.pop("NO_COLOR", None)
    subprocess.run(["stty", "cols", str(columns), "rows", "24"], stdin=follower, check=True, timeout=60)
    child = subprocess.Popen([BN, *words], cwd=bn.repo, env=env, stdout=follower, stderr=follower, stdin=follower)
    os.close(follower)
    output = b""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if select.select([leader], [], [], 1)[0]:
            try:
                chunk = os.read(leader, 65536)
            except OSError:
                break
            if not chunk:
                break
            output += chunk
    assert child.wait(timeout=60) == 0
    os.close(leader)
    return output.decode().replace("\r\n", "\n")


def test_the_version(bn):
    from binnacle import __version__

    assert bn.run("--version").out == f"bn {__version__}\n"


def test_json_is_one_line_for_programs_and_indented_on_a_terminal(bn):
    bn.add("One")
    assert bn.run("ready").out.count("\n") == 1
    shown = on_a_terminal(bn, "ready")
    assert shown.startswith("{\n  ")
    assert json.loads(shown) == bn("ready")


def test_colour_only_on_a_terminal(bn):
    bn.add("One", "--status", "blocked")
    assert "\x1b[" in on_a_terminal(bn, "task", "list", "-H")
    assert "\x1b[" not in bn.human("task", "list")
    bn.env["NO_COLOR"] = "1"
    # NO_COLOR is taken out by the helper; a dumb terminal says the same
    assert "\x1b[" not in bn.run("task", "list", "-H", env={"TERM": "dumb"}).out


def test_a_table_fits_the_terminal(bn):
    bn.add("a title much longer than forty columns will ever be able to hold in one line")
    bn.add("日本語のとても長い題名はふたつの桁をとる文字でできている、だから幅を数えなければならない")
    shown = on_a_terminal(bn, "ready", "-H", columns=60)
    from binnacle.cli.screen import width_of

    plain = [line.replace("\x1b[1m", "").replace("\x1b[0m", "") for line in shown.splitlines()]
    assert max(width_of(line) for line in plain) <= 60
    assert "…" in shown


def test_bn_alone_shows_the_state_of_the_project(bn):
    one, two = bn.add("One"), bn.add("Two")
    bn.add("Three", "--after", two)
    bn("task", "start", one)
    answer = bn()
    assert answer["overview"]["tasks"] == 3
    assert [task["id"] for task in answer["in_progress"]] == [one]
    assert [task["id"] for task in answer["ready"]] == [two]
    shown = bn.run("-H").out
    for text in ("repo", "0/3 done", "In progress", "Ready", "Cannot go on"):
        assert text in shown


def test_stats_count_everything(bn):
    bn("feature", "add", "auth")
    bn.add("One", "-f", "auth", "-p", "0")
    stats = bn("stats")
    assert stats["open_by_priority"] == {"critical": 1}
    assert stats["features"] == [{"feature": "auth", "open": 1, "done": 0}]
    assert "critical 1" in bn.human("stats")


def test_options_stand_before_or_after_the_command(bn, tmp_path):
    bn.add("One")
    elsewhere = tmp_path
    for words in (["-C", str(bn.repo), "ready"], ["ready", "-C", str(bn.repo)], [f"--repo={bn.repo}", "ready"]):
        assert bn.run(*words, cwd=elsewhere).json["total"] == 1
    assert bn.run("-H", "ready").out == bn.human("ready")
    assert bn.run("ready", env={"BN_REPO": str(bn.repo)}, cwd=elsewhere).json["total"] == 1


def test_a_worktree_shares_the_store_and_git_clean_leaves_it(bn, tmp_path):
    git = ["git", "-C", str(bn.repo), "-c", "user.name=t", "-c", "user.email=t@t"]
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "x"], check=True, timeout=60)
    subprocess.run([*git, "worktree", "add", "--quiet", str(tmp_path / "tree")], check=True, timeout=60)
    task = bn.add("One")
    subprocess.run([*git, "clean", "-fdxq"], check=True, timeout=60)
    assert bn.run("ready", cwd=tmp_path / "tree").json["tasks"][0]["id"] == task


def test_reading_creates_nothing(bn, tmp_path):
    for words in (
        ["ready"],
        [],
        ["task", "list"],
        ["stats"],
        ["log"],
        ["doctor"],
        ["store", "show"],
        ["config", "list"],
    ):
        bn.run(*words)
    assert not (tmp_path / "data").exists()
    assert not (bn.repo / ".binnacle").exists()


def test_text_that_begins_with_a_dash_comes_after_two(bn):
    assert bn("task", "add", "--", "--help is missing")["tasks"][0]["title"] == "--help is missing"


def test_graphs_are_drawn_for_pages(bn):
    one = bn.add('Say "hello"; [x] | {y}')
    two = bn.add("Two", "--after", one)
    mermaid = bn.run("graph", "--format", "mermaid").out
    assert f"{one.replace('-', '_')} --> {two.replace('-', '_')}" in mermaid
    assert '"hello"' not in mermaid
    dot = bn.run("graph", "--format", "dot").out
    assert f'"{one}" -> "{two}";' in dot
    assert '\\"hello\\"' in dot
    assert bn.run("graph", "--format", "tree").out == bn.human("graph")
    assert bn("graph", two)["edges"] == [[two, one]]
