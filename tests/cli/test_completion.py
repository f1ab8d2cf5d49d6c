"""What the shell offers on Tab."""

import json
import shutil
import subprocess

import pytest


def offered(bn, *words: str) -> list[str]:
    return [line.split("\t")[0] for line in bn.run("completion", "words", "--", *words).out.splitlines()]


def test_commands_are_offered(bn):
    assert "task" in offered(bn, "")
    assert offered(bn, "sea") == ["search"]
    assert offered(bn, "-H", "sea") == ["search"]
    assert offered(bn, "task", "sh") == ["show"]
    assert offered(bn, "task", "dep", "") == ["add", "rm", "tree"]
    assert offered(bn, "queue", "a") == ["add"]


def test_options_and_choices_are_offered(bn):
    assert "--priority" in offered(bn, "task", "add", "--p")
    assert offered(bn, "graph", "--format", "m") == ["mermaid"]
    assert offered(bn, "completion", "z") == ["zsh"]


def test_ids_and_names_are_offered(bn):
    bn("feature", "add", "billing")
    task = bn.add("One")
    assert offered(bn, "task", "show", "bn-") == [task]
    assert offered(bn, "task", "add", "x", "-f", "bil") == ["billing"]
    assert offered(bn, "task", "list", "--feature", "") == ["billing"]


def test_ids_are_offered_by_their_first_digits_closed_and_far_down_the_list_too(bn):
    bn("task", "add", "--from", "-", stdin=json.dumps([{"title": f"task {number}"} for number in range(250)]))
    last = bn("task", "list", "-n", "1", "--offset", "249")["tasks"][0]["id"]
    bn("task", "skip", last, "-m", "not needed")
    digits = last.removeprefix("bn-")
    assert last in offered(bn, "task", "show", last[:5])
    assert digits in offered(bn, "task", "show", digits[:2])
    assert digits in offered(bn, "show", digits[:2])
    assert all(one.startswith(digits[:2]) for one in offered(bn, "task", "reopen", digits[:2]))
    assert bn("task", "show", digits)["task"]["id"] == last, "what is offered is taken"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["task", "list", "--status", "in"], ["in_progress", "in_review"]),
        (["list", "-s", "d"], ["draft", "done"]),
        (["task", "list", "-s", "done", "-s", "bl"], ["blocked"]),
        (["edit", "1f3", "--status", "p"], ["pending", "partial"]),
        (["add", "x", "-p", "h"], ["high"]),
        (["ready", "--kind", "b"], ["bug"]),
    ],
)
def test_statuses_priorities_and_kinds_are_offered_by_name(bn, words, expected):
    assert offered(bn, *words) == expected


def test_short_forms_are_offered_and_complete_as_the_whole_command(bn):
    task = bn.add("One")
    assert offered(bn, "don") == ["done"]
    assert offered(bn, "done", "bn-") == [task]
    assert "--reason" in offered(bn, "done", "--r")


def test_a_mistake_on_the_line_offers_nothing_and_says_nothing(bn):
    done = bn.run("completion", "words", "--", "taks", "x")
    assert (done.code, done.out, done.err) == (0, "", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_printed(bn, shell):
    assert "bn completion words" in bn.run("completion", shell).out


def test_bash_completes_with_it(bn, tmp_path):
    from cli.conftest import BN

    task = bn.add("One")
    script = tmp_path / "bn.bash"
    script.write_text(bn.run("completion", "bash").out)
    line = f'source {script}; COMP_WORDS=(bn task show bn-); COMP_CWORD=3; _bn; echo "${{COMPREPLY[@]}}"'
    path = BN.rpartition("/")[0]
    done = subprocess.run(
        [shutil.which("bash") or "bash", "-c", line], cwd=bn.repo, env=bn.env | {"PATH": f"{path}:/usr/bin:/bin"},
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == task
