"""The documentation says what the program does."""

import importlib.util
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from binnacle import errors
from binnacle.cli.command_index import GROUPS
from binnacle.cli.parser import build, expand, find_command, load_group

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
PACKAGE = ROOT / "src" / "binnacle"
COMMANDS = [(name, words) for name in GROUPS for words in load_group(name).commands]


def generator():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["commands.md", "errors.md", "settings.md", "performance.md", "performance.svg"])
def test_generated_pages_are_up_to_date(name):
    assert (ROOT / "docs" / name).read_text() == generator().pages()[name], "run: make docs"


def test_every_error_class_is_in_the_tree_with_its_code():
    tree = errors.__doc__
    classes = [errors.BinnacleError]
    for one in classes:
        if (
            one is not errors.BridgeError
        ):  # each of its kind has the code of what went wrong, listed in bridge.error_codes
            classes += one.__subclasses__()
    for one in classes[1:]:
        assert re.search(rf"─ {one.__name__} +{one.code} ", tree), one
    assert len({one.code for one in classes}) == len(classes)


@pytest.mark.parametrize(("name", "words"), COMMANDS)
def test_every_example_is_a_command_that_parses(name, words):
    for line in commands_in(load_group(name).commands[words].example):
        group = load_group(line[0])
        found, rest = find_command(group, line[1:])
        assert found is not None, line
        build(group, found).parse_intermixed_args(rest)


def commands_in(example: str) -> list[list[str]]:
    """The `bn` commands in a line of shell, without `bn` and the options before the command."""
    lexer = shlex.shlex(example.replace("$(", "(").replace('"', ""), posix=True, punctuation_chars=";|>()")
    lexer.whitespace_split = True
    lines: list[list[str]] = [[]]
    for token in lexer:
        if set(token) <= set(";|>()"):
            lines.append([])
        else:
            lines[-1].append(token)
    found = [line[1:] for line in lines if line[:1] == ["bn"]]
    assert found, example
    plain = [line[2:] if line[0] == "-C" else line[1:] if line[0] == "-H" else line for line in found if line]
    return [expand(line) for line in plain if line]


@pytest.mark.parametrize(("name", "words"), COMMANDS)
def test_every_command_has_help_with_its_example(name, words, capsys):
    from binnacle.cli.main import main

    assert main([name, *words.split(), "--help"]) == 0
    shown = capsys.readouterr().out
    assert load_group(name).commands[words].example in shown
    assert "usage: bn" in shown


def test_every_group_has_help(capsys):
    from binnacle.cli.main import main

    assert main(["--help"]) == 0
    overview = capsys.readouterr().out
    for name, (_, text) in GROUPS.items():
        assert f"  {name} " in overview
        assert text in overview


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = page.read_text()
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_index_names_every_page_once():
    index = ROOT / "docs" / "README.md"
    linked = [(index.parent / target).resolve() for target in re.findall(r"\]\(([^)#:]+\.md)\)", index.read_text())]
    pages = {page.resolve() for page in ROOT.glob("docs/**/*.md")} - {index.resolve()}
    assert pages - set(linked) == set(), "link it in docs/README.md"
    assert len(linked) == len(set(linked))
    assert "docs/README.md" in (ROOT / "README.md").read_text()


def test_the_index_calls_decisions_by_their_titles():
    index = (ROOT / "docs" / "README.md").read_text()
    for page in ROOT.glob("docs/decisions/*.md"):
        number, title = page.read_text().splitlines()[0].removeprefix("# ").split(". ", 1)
        assert f"{number}. [{title}](decisions/{page.name})" in index


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_sizes_that_a_page_gives_are_true(page):
    text = " ".join(page.read_text().split())
    for number, files in re.findall(r"(\d+)[^()]{1,60}\(`cat ([^|`]+) \| wc -l`\)", text):
        lines = sum(len(path.read_text().splitlines()) for glob in files.split() for path in ROOT.glob(glob))
        assert abs(lines - int(number)) <= lines * 0.1, f"{files} has {lines} lines"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_named_in_the_prose_exist(page):
    for line in re.findall(r"`bn ([a-z][^`]*)`", page.read_text()):
        words = expand(line.split())
        assert words[0] in {*GROUPS, "help"}, line
        if words[0] == "help":
            continue
        assert find_command(load_group(words[0]), words[1:])[0] or len(words) == 1 or words[1].isupper(), line


def test_the_readme_names_the_two_commands_that_set_everything_up():
    readme = (ROOT / "README.md").read_text()
    makefile = (ROOT / "Makefile").read_text()
    for target in ("demo", "test"):
        assert f"make {target}" in readme
        assert re.search(rf"^{target}: install", makefile, re.MULTILINE)
    assert "make check" in (ROOT / ".ci" / "run").read_text()
    assert "$(MAKE) --no-print-directory test" in makefile


def test_the_project_names_no_place_it_was_made_at():
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, timeout=60).stdout
    for name in tracked.decode().split("\0"):
        path = ROOT / name
        if name and path.is_file() and name != "tests/docs/test_docs.py":
            text = path.read_text(errors="replace")
            assert not re.search(r"(?<![\w.])/(?:work|root)/", text), name


def test_the_modules_that_the_design_names_are_there():
    packages = sorted(path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists())
    named = re.findall(rf"`((?:{'|'.join(packages)})(?:\.[a-z_]+)+)", (ROOT / "docs" / "design.md").read_text())
    assert named
    assert [name for name in named if not _is_module_or_function(name)] == []


def _is_module_or_function(name: str) -> bool:
    """Whether a dotted name is a package, a module, or a function of one."""
    path = PACKAGE.joinpath(*name.split("."))
    if path.is_dir() or path.with_suffix(".py").exists():
        return True
    module = path.parent.with_suffix(".py")
    return module.exists() and f"def {path.name}(" in module.read_text()
