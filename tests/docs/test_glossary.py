"""The glossary is kept: its words are used for one thing each, and every public class is explained.

A class whose name is one word claims that word for the product, so the word is in the glossary or is one that every
programmer knows. A name of several words explains itself. What an instance is, the docstring says.
"""

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

from architecture.sources import read_modules

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "binnacle"

GENERAL = frozenset(
    ("answer", "argument", "authorizer", "codebase", "commit", "context", "conversation", "credential", "debugger",
     "git", "group", "item", "parser", "process", "reader", "redactor", "redirect", "screen", "table", "writer")
)  # fmt: skip
"""Words that a class may be called by and that need no entry in the glossary."""

EXPLAINED_ELSEWHERE = ("binnacle.errors", "binnacle.wire")
"""Modules whose classes are explained in one tree (errors), or by the protocol that they are named after (wire)."""

MODULES = {
    "engine": ("store*", "project.*store*", "config.*", "cli.paging", "cli.commands.store", "passthrough.command"),
    "job": ("bridge*", "project.bridge_host", "project.script_provider", "tools.script_tools", "config.project_files"),
    "host": (
        # what runs scripts
        "bridge*", "project", "project.bridge_host", "project.script_provider", "tools", "tools.dispatch",
        "tools.script_tools", "tools.host_remarks", "tools.tool_spec", "app.tool_call", "cli.command_index",
        "cli.commands.bridge", "cli.commands.script", "config.project_files", "config.child_environment",
        "lifecycle.agent_detection", "errors",
        # the host of a URL or an address, as the protocols call it
        "upstream.transports*", "upstream.auth.*", "upstream.configuration.*", "upstream.listing.content_index",
        "server.http_*", "server.mcp_over_http", "web.page_serv*", "web.sign_in*",
        "app.project_server", "cli.commands.mcp", "config.git_config",
        "config.store_access",
        "config.clients.provider_variables", "processes.tcp_owner", "lifecycle.loopback_peer", "store.opening",
        "store.engines.postgres",
        # a machine, in the answers of `bn agent`, which programs read
        "app.registered_agents", "cli.commands.agent", "web.api.agents", "tools.shell_agent",
    ),
    "upstream": (
        "upstream*", "app*", "bridge*", "cli*", "config*", "errors", "plan*", "project*", "runner*", "server*",
        "serving*", "sessions*", "tools*", "web*", "wire.mcp", "work.feature", "store.features",
        # the kind of blocker in reports, which agents pass
        "work.report",
    ),
}  # fmt: skip
"""Modules in which a word with one meaning may stand."""


@cache
def tables() -> list[list[tuple[str, ...]]]:
    """The rows of every table of the page."""
    found: list[list[tuple[str, ...]]] = [[]]
    for line in (ROOT / "docs" / "glossary.md").read_text().splitlines():
        if line.startswith("| "):
            found[-1].append(tuple(cell.strip() for cell in line.strip("| ").split(" | ")))
        elif not line.startswith("|") and found[-1]:
            found.append([])
    return [rows[1:] for rows in found if rows]


def words_of(table: int) -> list[str]:
    return [row[0] for row in tables()[table]]


def public_classes() -> Iterator[tuple[str, ast.ClassDef]]:
    for module, tree in read_modules().items():
        if not module.startswith(EXPLAINED_ELSEWHERE):
            yield from (
                (module, node) for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
            )


def split_name(name: str) -> list[str]:
    """The words of a class's name, in lower case and in the singular."""
    return [_singular(word.lower()) for word in re.findall(r"[A-Z]+(?=[A-Z][a-z]|$)|[A-Z][a-z0-9]*", name)]


def _singular(word: str) -> str:
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def find_word(text: str, word: str) -> list[str]:
    """Lines that use a word: in prose, or as a part of a name."""
    pattern = re.compile(rf"(?<![a-z]){word}s?(?![a-z])", re.IGNORECASE)
    return [line.strip() for line in text.splitlines() if pattern.search(line)]


def test_words_are_in_order_and_there_once():
    for table in range(len(tables())):
        assert words_of(table) == sorted(set(words_of(table)))


def test_a_class_of_one_word_is_called_by_a_word_that_is_explained():
    known = {_singular(word) for word in words_of(0)} | GENERAL
    names = {f"{module}.{node.name}": split_name(node.name) for module, node in public_classes()}
    unexplained = [name for name, words in names.items() if len(words) == 1 and words[0] not in known]
    assert unexplained == [], "say more in the name, or explain the word in docs/glossary.md"


def test_every_public_class_says_what_it_is():
    silent = [
        f"{module}.{node.name}"
        for module, node in public_classes()
        if not ast.get_docstring(node) and not node.name.endswith("Params")  # named for what takes them
    ]
    assert silent == []


def test_the_page_names_the_words_that_have_one_meaning():
    assert words_of(1) == sorted(MODULES)
    assert set(MODULES) <= set(words_of(0))


@pytest.mark.parametrize("word", sorted(MODULES))
def test_a_word_is_used_for_one_thing_only(word):
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        if not any(fnmatch(module, pattern) for pattern in MODULES[word]):
            text = re.sub(r"^.*import .*$", "", path.read_text(), flags=re.MULTILINE)
            if lines := find_word(text, word):
                found[module] = lines
    assert found == {}, f"see {word!r} in docs/glossary.md"


@pytest.mark.parametrize("word", words_of(2))
def test_words_that_we_do_not_use_are_not_used(word):
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *SOURCE.rglob("*.py"), *SOURCE.rglob("*.yaml")]
    found = {
        str(page.relative_to(ROOT)): lines
        for page in pages
        if page.name != "glossary.md" and (lines := find_word(page.read_text(), word))
    }
    assert found == {}, f"see {word!r} in docs/glossary.md"
