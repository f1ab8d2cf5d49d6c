"""`bn check`: seeing the checks of a project."""

import pytest

FILE = """\
checks:
  - name: tests
    command: make test
    setup: make install
    timeout: 120
    paths: [src/**, tests/**]
    tier: full
    needs: [make]
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
    assert bn("check", "list") == {"checks": []}
    assert "checks.yaml" in bn.human("check", "list")


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
        "timeout": 120,
        "paths": ["src/**", "tests/**"],
        "tier": "full",
        "needs": ["make"],
    }
    assert (second["command"], second["tier"], second["timeout"]) == ("sh -c 'ruff check . | tail -20'", "fast", 600)


def test_only_a_person_trusts_one_and_sees_what_it_is(bn, checks):
    checks(FILE)
    assert "bn trust check" in bn.human("check", "list")
    assert bn.fails("trust", "check", "--yes", env=bn.agent("bob"))["code"] == "E_PERSON_NEEDED"
    (shown,) = bn("trust", "show", "check:tests")["items"]
    assert shown["key"] == "check:tests"
    for told in ("make test", "setup: make install", "timeout: 120 s", "paths: 'src/**' 'tests/**'", "tier: full"):
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
        ("120", "121"),
        ("src/**", "lib/**"),
        ("[src/**, tests/**]", "['src/** tests/**']"),
        ("tier: full", "tier: fast"),
        ("[make]", "[gmake]"),
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
        ("checks:\n  - name: a\n    command: x\n    timeout: 0\n", 4, "timeout", ""),
        ("checks:\n  - name: a\n    command: x\n    paths: [../y]\n", 4, "'../y'", "top of the repository"),
        ("checks:\n  - name: a\n    command: x\n    paths: [/y]\n", 4, "'/y'", "top of the repository"),
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
