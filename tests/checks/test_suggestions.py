"""Checks that are proposed for a repository by its files; each can be written and read."""

import json

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
