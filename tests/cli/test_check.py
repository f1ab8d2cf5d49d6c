"""`bn check`: seeing the checks of a project."""

import subprocess

import pytest

from cli.terminal import run_on_terminal
from runner.repositories import Repository

FILE = """\
checks:
  - name: tests
    command: make test
    setup: make install
    cache: [uv.lock]
    timeout: 120
    paths: [src/**, tests/**]
    tier: full
    needs: [make]
    exclusive: port
    memory: 2048
    report: out/*.xml
  - name: lint
    command: ["sh", "-c", "ruff check . | tail -20"]
"""


@pytest.fixture
def checks(bn):
    """Writes the file of checks."""

    def write(text: str) -> None:
        path = bn.repo / ".binnacle" / "checks.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    return write


def states(bn) -> dict[str, str]:
    return {one["name"]: one["state"] for one in bn("check", "list")["checks"]}


def test_a_project_without_checks(bn):
    assert bn("check", "list") == {"checks": [], "policies": []}
    assert "checks.yaml" in bn.human("check", "list")


def test_policies_are_listed_with_what_they_would_decide(bn, checks):
    checks("review:\n  default: person\nprotect:\n  ci_changed: allow\n")
    assert [(one["name"], one["state"]) for one in bn("check", "list")["policies"]] == [
        ("protect", "not trusted"), ("review", "not trusted"),
    ]  # fmt: skip
    assert "review: not trusted; would decide which changes" in bn.human("check", "list")
    bn("trust", "check:review", "--yes")
    shown = bn.human("check", "list")
    assert "review: trusted; decides which changes" in shown
    assert "bn check approve" in shown


def test_they_are_listed_with_all_that_they_say(bn, checks):
    checks(FILE)
    first, second = bn("check", "list")["checks"]
    assert first["place"].endswith("checks.yaml:2")
    del first["place"]
    assert first == {
        "name": "tests",
        "state": "not trusted",
        "command": "make test",
        "setup": ["make", "install"],
        "cache": ["uv.lock"],
        "timeout": 120,
        "paths": ["src/**", "tests/**"],
        "tier": "full",
        "needs": ["make"],
        "exclusive": "port",
        "memory": 2048,
        "report": "out/*.xml",
    }
    assert (second["command"], second["tier"], second["timeout"]) == ("sh -c 'ruff check . | tail -20'", "fast", 600)


def test_only_a_person_trusts_one_and_sees_what_it_is(bn, checks):
    checks(FILE)
    assert "bn check approve" in bn.human("check", "list")
    assert bn.fails("trust", "check", "--yes", env=bn.agent("bob"))["code"] == "E_PERSON_NEEDED"
    (shown,) = bn("trust", "show", "check:tests")["items"]
    assert shown["key"] == "check:tests"
    for told in (
        "make test",
        "setup: make install",
        "cache: uv.lock",
        "timeout: 120 s",
        "paths: 'src/**' 'tests/**'",
        "tier: full",
        "exclusive: port",
        "memory: 2048 MiB",
        "report: out/*.xml",
    ):
        assert told in shown["content"]
    assert bn("trust", "check:tests", "--yes")["trusted"] == ["check:tests"]
    assert states(bn) == {"tests": "trusted", "lint": "not trusted"}
    bn("trust", "check", "--yes")
    assert "bn trust" not in bn.human("check", "list")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("make test", "make tests"),
        ("make install", "make deploy"),
        ("uv.lock", "go.sum"),
        ("120", "121"),
        ("src/**", "lib/**"),
        ("[src/**, tests/**]", "['src/** tests/**']"),
        ("tier: full", "tier: fast"),
        ("[make]", "[gmake]"),
        ("port", "socket"),
        ("2048", "4096"),
        ("out/*.xml", "forged/*.xml"),
    ],
)
def test_one_that_changes_in_any_way_is_not_trusted_any_more(bn, checks, old, new):
    checks(FILE)
    bn("trust", "--yes")
    checks(FILE.replace(old, new, 1))
    assert states(bn) == {"tests": "changed", "lint": "trusted"}


@pytest.mark.parametrize(
    ("text", "line", "said", "hint"),
    [
        ("checks:\n  - name: a\n    comand: x\n", 3, "unknown key 'comand'", "command"),
        ("chekcs: []\n", 1, "unknown key 'chekcs'", "checks"),
        ("checks:\n  - name: a\n    command: x\n    tier: ful\n", 4, "'ful'", "full"),
        ("checks:\n  - name: a\n", 2, "command", ""),
        ("checks:\n  - name: a b\n    command: x\n", 2, "not a name for a check: 'a b'", "letters"),
        ("checks:\n  - name: a\n    command: ''\n", 3, "there is no command", "program"),
        ("checks:\n  - name: a\n    command: x | y\n", 3, "'|' needs a shell", '["sh","-c","x | y"]'),
        ("checks:\n  - name: a\n    command: |\n      x\n      y\n", 3, "one line", "script"),
        ("checks:\n  - name: a\n    command: x\n    setup: y; z\n", 4, "';' needs a shell", "sh"),
        ("checks:\n  - name: a\n    command: x\n    cache: [l]\n", 4, "no setup whose result could be kept", "setup"),
        ("checks:\n  - name: a\n    command: x\n    setup: y\n    cache: ['*.lock']\n", 5, "'*.lock'", "each file"),
        ("checks:\n  - name: a\n    command: x\n    setup: y\n    cache: [../l]\n", 5, "'../l'", "top of the repo"),
        ("checks:\n  - name: a\n    command: x\n    timeout: 0\n", 4, "timeout", ""),
        ("checks:\n  - name: a\n    command: x\n    paths: [../y]\n", 4, "'../y'", "top of the repository"),
        ("checks:\n  - name: a\n    command: x\n    paths: [/y]\n", 4, "'/y'", "top of the repository"),
        ("checks:\n  - name: a\n    command: x\n    report: ../y\n", 4, "'../y'", "top of the repository"),
        ("checks:\n  - name: a\n    command: x\n    needs: [/bin/y]\n", 4, "'/bin/y'", "without a path"),
        ("checks:\n  - name: a\n    command: x\n  - name: a\n    command: y\n", 4, "two checks called 'a'", "rename"),
        ("checks: [\n", 2, "not YAML", "indentation"),
    ],
)
def test_a_mistake_is_said_with_its_line_and_the_nearest_word(bn, checks, text, line, said, hint):
    checks(text)
    error = bn.fails("check", "list")
    assert error["code"] == "E_CONFIG"
    assert f"checks.yaml:{line}: " in error["message"]
    assert said in error["message"]
    assert hint in (error.get("hint") or "")


def commit(bn, files: dict[str, str]) -> str:
    """Commits files in the repository, as a person does."""
    for name, text in files.items():
        (bn.repo / name).parent.mkdir(parents=True, exist_ok=True)
        (bn.repo / name).write_text(text)
    who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    for words in (("add", "--all"), (*who, "commit", "--quiet", "-m", "work"), ("rev-parse", "HEAD")):
        done = subprocess.run(
            ["git", *words], cwd=bn.repo, env=bn.env, check=True, capture_output=True, text=True, timeout=60
        )
    return done.stdout.strip()


def test_a_check_is_run_on_the_commit_and_not_on_the_folder(bn):
    bn("check", "add", "cart", "grep -q good cart.txt")
    made = commit(bn, {"cart.txt": "good\n"})
    (bn.repo / "cart.txt").write_text("bad\n")
    found = bn("check", "run")
    assert (found["commit"], found["proven"], found["uncommitted"]) == (made, True, ["cart.txt"])
    assert [(one["name"], one["verdict"]) for one in found["checks"]] == [("cart", "pass")]
    said = bn.human("check", "run", "cart")
    assert "✓ cart: pass" in said
    assert "1 file with uncommitted changes" in said


def test_what_is_not_proven_ends_with_another_exit_code_and_the_log(bn):
    bn("check", "add", "cart", "sh -c 'echo the price is wrong; exit 3'")
    commit(bn, {"cart.txt": "good\n"})
    done = bn.run("check", "run")
    assert done.code == 1
    found = done.json["checks"][0]
    assert (found["verdict"], found["reason"], found["exit"]) == ("fail", "exit code 3", 3)
    assert "the price is wrong" in found["log_excerpt"]
    said = bn.run("check", "run", "-H").out
    assert "✗ cart: fail" in said
    assert "the price is wrong" in said
    assert "not proven" in said


def test_a_check_that_nobody_trusted_does_not_run(bn, checks):
    checks(f"checks:\n  - name: mark\n    command: touch {bn.repo}/ran\n")
    commit(bn, {"a.txt": "a\n"})
    error = bn.fails("check", "run", "mark")
    assert error["code"] == "E_REFUSED"
    assert "bn check approve mark" in error["hint"]
    assert not (bn.repo / "ran").exists()
    assert bn("check", "approve", "mark", "--yes")["trusted"] == ["check:mark"]
    assert bn("check", "run", "mark")["proven"]


def test_an_unknown_check_is_named_and_no_checks_lead_to_suggestions(bn):
    commit(bn, {"a.txt": "a\n"})
    assert "bn check suggest" in bn.fails("check", "run")["hint"]
    bn("check", "add", "tests", "true")
    assert bn.fails("check", "run", "test")["hint"] == "did you mean 'tests'?"
    assert bn.fails("check", "run", "--commit", "nothing")["code"] == "E_GIT"


def test_a_branch_that_weakens_its_check_is_judged_by_the_base(bn):
    """The weaker definition would need a person's trust as well, and here even has it."""
    bn("check", "add", "cart", "grep -q good cart.txt")
    base = commit(bn, {"cart.txt": "good\n"})
    file = bn.repo / ".binnacle" / "checks.yaml"
    commit(
        bn, {"cart.txt": "bad\n", ".binnacle/checks.yaml": file.read_text().replace("grep -q good cart.txt", "true")}
    )
    weak = bn.run("check", "run", "--base", base)
    assert weak.code == 1
    assert weak.json["definitions"] == "base"
    assert weak.json["checks"][0]["verdict"] == "fail"
    assert [one["kind"] for one in weak.json["findings"]] == ["checks_changed"]
    assert weak.json["decision"] == "ask"


def test_a_removed_test_is_shown_first_and_refused(bn):
    bn("check", "add", "cart", "true")
    base = commit(bn, {"tests/test_a.py": "def test_a():\n    assert 1\n"})
    commit(bn, {"tests/test_a.py": "\n"})
    done = bn.run("check", "run", "--base", base, "-H")
    assert done.code == 1
    assert done.out.index("refused") < done.out.index("cart: pass")
    assert "test removed  tests/test_a.py  test_a" in done.out


def test_a_policy_counts_once_a_person_has_trusted_it(bn):
    bn("check", "add", "cart", "true")
    file = bn.repo / ".binnacle" / "checks.yaml"
    file.write_text(file.read_text() + "protect:\n  test_removed: allow\n")
    base = commit(bn, {"tests/test_a.py": "def test_a():\n    pass\n"})
    commit(bn, {"tests/test_a.py": "\n"})
    assert bn.run("check", "run", "--base", base).json["decision"] == "refuse"
    assert bn("trust", "check:protect", "--yes")["trusted"] == ["check:protect"]
    assert bn("check", "run", "--base", base)["decision"] == "allow"


def test_a_check_is_added_where_the_list_ends_and_nothing_else_changes(bn, checks):
    checks("# ours\nchecks:\n- name: lint   # first\n  command: ruff check .\n\nprotect:\n  ci_changed: allow\n")
    bn("check", "add", "tests", "make test", "--setup", "make install", "--cache", "uv.lock", "--tier", "full")
    text = (bn.repo / ".binnacle" / "checks.yaml").read_text()
    assert text.startswith('# ours\nchecks:\n- name: lint   # first\n  command: ruff check .\n- name: "tests"\n')
    assert text.endswith("\n\nprotect:\n  ci_changed: allow\n")
    added = bn("check", "list")["checks"][1]
    assert (added["setup"], added["cache"], added["tier"]) == (["make", "install"], ["uv.lock"], "full")
    assert states(bn) == {"lint": "not trusted", "tests": "trusted"}
    assert bn.fails("check", "add", "tests", "true")["code"] == "E_DUPLICATE"
    assert bn.fails("check", "add", "all", "make a | tail")["code"] == "E_CONFIG"
    assert (bn.repo / ".binnacle" / "checks.yaml").read_text() == text


def test_a_repository_is_looked_at_and_checks_are_proposed(bn):
    assert bn("check", "suggest") == {"checks": []}
    (bn.repo / "pyproject.toml").write_text("[project]\nname = 'x'\n[tool.pytest.ini_options]\n[tool.ruff]\n")
    (bn.repo / "Makefile").write_text("check: lint\n\techo\n")
    found = {one["name"]: one["command"] for one in bn("check", "suggest")["checks"]}
    python = ".venv/bin/python -m"
    assert found == {"tests": f"{python} pytest", "lint": f"{python} ruff check .", "make-check": "make check"}
    assert not (bn.repo / ".binnacle" / "checks.yaml").exists()
    assert "bn check suggest --write" in bn.human("check", "suggest")
    assert bn("check", "suggest", "--write")["file"].endswith("checks.yaml")
    assert states(bn) == {"tests": "not trusted", "lint": "not trusted", "make-check": "not trusted"}
    assert bn("check", "suggest") == {"checks": []}


def test_a_check_whose_program_is_not_installed_is_proposed_and_not_written(bn, monkeypatch):
    """Nothing would be done with it: it could not run."""
    (bn.repo / "noxfile.py").write_text("")
    monkeypatch.setitem(bn.env, "PATH", str(bn.repo))
    (found,) = bn("check", "suggest")["checks"]
    assert (found["command"], found["missing"]) == ("nox", "nox")
    assert "nox is not installed here: left out" in bn.human("check", "suggest")
    assert bn("check", "suggest", "--write").get("file", "") == ""
    assert not (bn.repo / ".binnacle" / "checks.yaml").exists()


def test_a_person_sees_what_a_check_is_doing(bn, checks):
    repo = Repository(bn.repo)
    repo.commit("first", {"work.txt": "good\n"})
    checks("checks:\n  - name: tests\n    command: sh -c 'echo so far so good; grep -q good work.txt'\n")
    bn("trust", "check", "--yes")
    shown = run_on_terminal(bn, "check", "run")
    assert shown.code == 0
    assert "check tests: running" in shown.screen
    assert " tests: pass, " in shown.screen
