"""What the shell offers on Tab."""

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
