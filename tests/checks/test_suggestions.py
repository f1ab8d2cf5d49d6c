"""Checks that are proposed for a repository by its files; each can be written and read."""

import json
import shlex

import pytest

from binnacle.checks.suggestions import suggest_checks
from binnacle.project.check_file import parse_check_file
from binnacle.project.check_file_edits import WrittenCheck, append_checks


def package(**values) -> str:
    return json.dumps(values)


@pytest.mark.parametrize(
    ("files", "commands"),
    [
        ({}, []),
        ({"README.md": ""}, []),
        ({"pytest.ini": ""}, ["python3 -m pytest"]),
        ({"pyproject.toml": "[project]\n[tool.pytest.ini_options]"}, [".venv/bin/python -m pytest"]),
        (
            {"poetry.lock": "", "pyproject.toml": "[tool.pytest.x]\n[tool.mypy]"},
            ["poetry run pytest", "poetry run mypy"],
        ),
        ({"tox.ini": "[tox]"}, ["tox"]),
        ({"noxfile.py": ""}, ["nox"]),
        ({"package.json": package(scripts={"test": "mocha"})}, ["npm test"]),
        ({"package.json": package(scripts={"test": 'echo "Error: no test specified" && exit 1'})}, []),
        ({"package.json": package(devDependencies={"vitest": "3"}), "pnpm-lock.yaml": ""}, ["npx vitest run"]),
        ({"package.json": package(scripts={"test": "node --test", "lint": "eslint"})}, ["node --test", "npm run lint"]),
        ({"package.json": "{broken"}, []),
        ({"package.json": package(scripts=3)}, []),
        ({"Cargo.toml": ""}, ["cargo test"]),
        ({"go.mod": ""}, ["go test ./..."]),
        ({"Makefile": "test:\n\tx\ncheck: test\n\nlint := x\n"}, ["make test", "make check"]),
        ({".pre-commit-config.yaml": ""}, ["pre-commit run --all-files"]),
        ({"go.mod": "", "Cargo.toml": ""}, ["cargo test", "go test ./..."]),
    ],
)
def test_each_kind_of_repository_gets_its_own(files, commands):
    found = suggest_checks(set(files), lambda name: files.get(name, ""))
    assert [one.command for one in found] == commands
    assert len({one.name for one in found}) == len(found)
    written = [WrittenCheck(name=one.name, command=one.command, setup=one.setup, tier=one.tier) for one in found]
    read = parse_check_file(append_checks("", written), file="checks.yaml").checks
    assert [one.command for one in read] == commands


@pytest.mark.parametrize("before", ["", "checks: []\n", "# words\n", "protect:\n  ci_changed: ask\n", "checks:\n"])
def test_the_first_check_of_a_file(before):
    text = append_checks(before, [WrittenCheck(name="tests", command="true")])
    assert [one.name for one in parse_check_file(text, file="checks.yaml").checks] == ["tests"]
    assert all(line in text for line in before.splitlines() if line != "checks: []")


def test_the_setup_brings_what_the_tests_and_the_tools_need():
    project = (
        '[project]\nname = "x"\n[project.optional-dependencies]\ntests = ["freezegun"]\n[dependency-groups]\n'
        'dev = ["hypothesis>=6", {include-group = "x"}]\n[tool.pytest.ini_options]\n[tool.ruff]\n[tool.mypy]\n'
    )
    found = suggest_checks({"pyproject.toml"}, lambda _: project)
    commands = [".venv/bin/python -m pytest", ".venv/bin/python -m ruff check .", ".venv/bin/python -m mypy"]
    assert [one.command for one in found] == commands
    (setup,) = {one.setup for one in found}
    install = ".venv/bin/pip install -e '.[tests]' 'hypothesis>=6' pytest ruff mypy"
    assert shlex.split(setup) == ["sh", "-c", f"python3 -m venv .venv && {install}"]
    with_broken = suggest_checks({"pyproject.toml"}, lambda _: "[project]\npytest = [")
    assert "pip install -e . pytest" in with_broken[0].setup


def test_unittest_is_run_by_the_python_of_the_project():
    found = suggest_checks({"pyproject.toml", "tests"}, lambda _: "[project]\nname = 'x'\n")
    assert [one.command for one in found] == [".venv/bin/python -m unittest"]
    found = suggest_checks({"setup.cfg", "uv.lock", "tests"}, lambda _: "")
    assert [one.command for one in found] == ["uv run python -m unittest"]


HATCH = '[project]\n[build-system]\nbuild-backend = "hatchling.build"\n[tool.pytest.ini_options]\n'
SETUPTOOLS = HATCH.replace("hatchling.build", "setuptools.build_meta")
UV = {"uv.lock": "", "pyproject.toml": HATCH}
NPM = {"package-lock.json": "{}", "package.json": package(scripts={"test": "mocha"}, dependencies={"left": "1"})}


@pytest.mark.parametrize(
    ("files", "cache"),
    [
        (UV, ["uv.lock", "pyproject.toml"]),
        ({**UV, "pyproject.toml": "[project]\n[tool.pytest.ini_options]\n"}, ["uv.lock", "pyproject.toml"]),
        ({**UV, "pyproject.toml": SETUPTOOLS}, []),
        ({**UV, "pyproject.toml": HATCH + "[tool.hatch.build.hooks.vcs]\n"}, []),
        ({**UV, "pyproject.toml": HATCH + "[tool.uv.sources]\n"}, []),
        ({"poetry.lock": "", "pyproject.toml": HATCH}, ["poetry.lock", "pyproject.toml"]),
        ({"pyproject.toml": HATCH}, ["pyproject.toml"]),
        ({"pyproject.toml": SETUPTOOLS}, []),
        ({"pyproject.toml": HATCH, "setup.py": ""}, []),
        ({"pytest.ini": "", "requirements.txt": "# all\npytest>=8\nrequests[socks]==2 ; python_version > '3'\n"},
         ["requirements.txt"]),
        ({"pytest.ini": "", "requirements.txt": "pytest\n-e .\n"}, []),
        ({"pytest.ini": "", "requirements.txt": "-r more.txt\n"}, []),
        ({"pytest.ini": "", "requirements.txt": "cart @ file:///x\n"}, []),
        ({"pytest.ini": "", "requirements.txt": "./cart\n"}, []),
        (NPM, ["package-lock.json", "package.json"]),
        ({**NPM, ".npmrc": ""}, ["package-lock.json", "package.json", ".npmrc"]),
        ({**NPM, "package.json": package(scripts={"test": "mocha", "prepare": "tsc"})}, []),
        ({**NPM, "package.json": package(scripts={"test": "mocha"}, workspaces=["packages/*"])}, []),
        ({**NPM, "package.json": package(scripts={"test": "mocha"}, dependencies={"cart": "file:../cart"})}, []),
        ({"package.json": package(scripts={"test": "mocha"})}, []),
    ],
)  # fmt: skip
def test_a_setup_is_kept_where_only_its_lock_files_decide_it(files, cache):
    found = suggest_checks(set(files), lambda name: files.get(name, ""))[0]
    assert list(found.cache) == cache
    written = WrittenCheck(name=found.name, command=found.command, setup=found.setup, cache=found.cache)
    assert parse_check_file(append_checks("", [written]), file="x").checks[0].cache == tuple(sorted(cache))
