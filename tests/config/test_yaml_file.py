"""Files that people write: what they hold, and what is wrong with them, by line."""

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from binnacle.config.yaml_file import load, parse
from binnacle.errors import ConfigError


class Limits(Struct, forbid_unknown_fields=True):
    only: tuple[str, ...] = ()


class Menu(Struct, forbid_unknown_fields=True):
    title: str = ""
    price: int = 0
    course: Literal["starter", "main", "dessert"] = "main"
    dishes: tuple[str | dict[str, Limits], ...] = ()
    wines: dict[str, Limits] = {}


def read(text: str) -> Menu:
    return parse(text, Menu, file="menu.yaml")[0]


def wrong(text: str) -> tuple[str, str]:
    with pytest.raises(ConfigError) as caught:
        read(text)
    return caught.value.message, caught.value.hint


def test_a_file_is_read_with_the_places_of_its_parts(tmp_path):
    file = tmp_path / "menu.yaml"
    file.write_text("title: Lunch\ndishes:\n  - soup\n  - fish: {only: [fried]}\n")
    menu, lines = load(str(file), Menu)
    assert menu == Menu(title="Lunch", dishes=("soup", {"fish": Limits(("fried",))}))
    assert lines.at("dishes", 1) == f"{file}:4"
    assert lines.at("dishes", 1, "fish", "only", 0) == f"{file}:4"
    assert lines.at("dishes", 9) == f"{file}:2", "what is not there is said to be where it would be"
    assert lines.at("nothing") == f"{file}:1"


def test_an_empty_file_holds_nothing():
    assert read("") == read("# nothing yet\n") == Menu()
    assert parse("", Menu, file="menu.yaml")[1].at("title") == "menu.yaml"


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("title: A\nprize: 3\n", "menu.yaml:2: unknown key 'prize'", "'price'"),
        ("wines:\n  red: {}\n  white: {onyl: [x]}\n", "menu.yaml:3: unknown key 'onyl'", "'only'"),
        ("dishes:\n- soup\n- fish:\n    onyl: [x]\n", "menu.yaml:4: unknown key 'onyl'", "'only'"),
        ("title: A\nprice: much\n", "menu.yaml:2: price: expected int, got str", "works"),
        ("dishes:\n- soup\n- 5\n", "menu.yaml:3: dishes.1: expected str | object, got int", "works"),
        ("course: desert\n", "menu.yaml:1: course: invalid enum value 'desert'", "'dessert'"),
        ("- a\n- b\n", "menu.yaml:1: expected object, got array", "works"),
        ("title: A\n\ntitle: B\n", "menu.yaml:3: 'title' occurs twice", "one of them"),
        ("title: &t A\nwines: *t\n", "menu.yaml:1: an alias (*) is used for this", "write it out"),
        ("wines: &w {red: *w}\n", "menu.yaml:1: an alias (*) is used for this", "write it out"),
    ],
)
def test_what_is_wrong_is_named_with_its_line_and_the_nearest_word(text, message, hint):
    said = wrong(text)
    assert said[0] == message
    assert hint in said[1]


@pytest.mark.parametrize(
    "text",
    ["title: 'open\n", "a: b: c\n", "dishes: [a\n", "\tx: 1\n", "title: !!python/object:os.system x\n", "? [a]\n: b\n",
     "x: *nobody\n"],
)  # fmt: skip
def test_what_is_not_yaml_is_said_with_the_line(text):
    message, hint = wrong(text)
    assert message.startswith(("menu.yaml:1: ", "menu.yaml:2: "))
    assert hint


@pytest.mark.parametrize("text", ["title: 2020-13-45\n", "title: !!bool maybe\n", "[" * 5000, f"price: {'9' * 5000}\n"])
def test_a_value_that_cannot_be_read_is_an_error_like_others(text):
    message, hint = wrong(text)
    assert message.startswith("menu.yaml")
    assert hint


def test_a_few_lines_cannot_fill_the_memory():
    bomb = "a: &a [x, x]\n" + "".join(
        f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefghij", "bcdefghijk", strict=True)
    )
    assert "alias" in wrong(bomb)[0]


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "latin.yaml").write_bytes(b"title: caf\xe9\n")
    for name in ("missing.yaml", "latin.yaml", "."):
        with pytest.raises(ConfigError, match="cannot read") as caught:
            load(str(tmp_path / name), Menu)
        assert str(tmp_path) in caught.value.message


@given(st.text(alphabet=st.sampled_from("ab:-[]{}&*!'\"#|> \n\t0?,%@\x00é"), max_size=40))
def test_no_text_ends_in_anything_but_a_value_or_an_error_with_the_file(text):
    error = None
    try:
        read(text)
    except ConfigError as raised:
        error = raised
    assert error is None or (error.message.startswith("menu.yaml") and error.hint)
