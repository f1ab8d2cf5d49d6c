"""The types of the page are those of the endpoints, and are made the same way every time."""

from pathlib import Path

import pytest
from msgspec import Struct, inspect

from binnacle.web.typescript_types import _TypeWriter, generate, type_of

TYPES = Path(__file__).parents[2] / "page" / "src" / "api" / "types.ts"


class Nested(Struct, omit_defaults=True):
    """Something inside of something."""

    number: int = 0


class Everything(Struct):
    """A struct with fields of every kind."""

    texts: list[str]
    pair: tuple[int, str]
    choices: list[int | None]
    by_name: dict[str, list[Nested]]
    limit: int = 50


def written(*, is_asked: bool) -> str:
    writer = _TypeWriter()
    writer.add(Everything, is_asked=is_asked)
    return "\n".join(writer.interfaces())


def test_the_committed_file_is_current():
    assert TYPES.read_text() == generate(), "run: python -m binnacle.web.typescript_types --write"


def test_fields_are_written_as_typescript_has_them():
    text = written(is_asked=False)
    for line in ("texts: string[];", "pair: [number, string];", "choices: (number | null)[];", "limit: number;"):
        assert f"  {line}" in text
    assert "  by_name: Record<string, Nested[]>;" in text
    assert "  number?: number;" in text, "what is left out of an answer may be missing"


def test_what_may_be_left_out_of_a_request_may_be_missing():
    assert "  limit?: number;" in written(is_asked=True)


def test_a_type_that_the_page_does_not_have_is_refused():
    with pytest.raises(TypeError, match="no type for"):
        type_of(inspect.type_info(bytes))
