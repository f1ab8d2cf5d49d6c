"""Our section of AGENTS.md sits between its markers."""

import re
import shlex

import pytest

from binnacle.cli.parser import build, find_command, load_group
from binnacle.config.clients import agents_section
from binnacle.config.clients.agents_section import BEGIN, END, SECTION
from binnacle.config.clients.config_text import ConfigText
from binnacle.errors import ConfigError


def put(text: str) -> str:
    return agents_section.put(ConfigText("AGENTS.md", text))


def take(text: str) -> str:
    return agents_section.take(ConfigText("AGENTS.md", text))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", f"{SECTION}\n"),
        ("# Rules\n", f"# Rules\n\n{SECTION}\n"),
        ("# Rules", f"# Rules\n\n{SECTION}"),
        ("# Rules\r\n", f"# Rules\n\n{SECTION}\n".replace("\n", "\r\n")),
    ],
)
def test_it_is_put_at_the_end_and_taken_out_again(before, after):
    assert put(before) == after
    assert put(after) == after
    assert take(after) == before
    assert take(before) == before


def test_it_is_renewed_where_it_is():
    assert put(f"one\n\n{BEGIN}\nold\n{END}\n\ntwo") == f"one\n\n{SECTION}\n\ntwo"
    assert take(f"one\n\n{SECTION}\n\ntwo") == "one\n\ntwo"


@pytest.mark.parametrize(
    "text", [BEGIN, f"a\n{END}", f"{END}\n{BEGIN}", f"{BEGIN}{END}{BEGIN}{END}", f"{BEGIN}{END}{END}"]
)
def test_markers_that_do_not_match_are_not_touched(text):
    for change in (put, take):
        with pytest.raises(ConfigError, match=r"AGENTS.md:\d+:1: the markers"):
            change(text)


def test_it_is_short_and_names_only_commands_that_exist():
    assert 10 <= len(SECTION.splitlines()) <= 20
    assert max(map(len, SECTION.splitlines())) <= 120
    commands = [shlex.split(line)[1:] for line in re.findall(r"`(bn [^`]*)`", SECTION)]
    assert len(commands) > 8
    for words in commands:
        group = load_group(words[0])
        command, rest = find_command(group, words[1:])
        assert command, words
        build(group, command).parse_intermixed_args(rest)
