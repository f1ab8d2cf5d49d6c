"""Whatever is handed in, what is kept can be printed, stored on both engines, and cleaned again without a change."""

import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from binnacle.errors import InvalidInput
from binnacle.work.text import clean_line, clean_lines, clean_name, clean_paths, clean_text

# Every code point there is, lone surrogates too, and more of those that do harm.
HOSTILE = st.text(
    st.one_of(
        st.characters(),
        st.characters(categories=["Cc", "Cs", "Cf"]),
        st.sampled_from("\x00\x1b[]\r\n\t /\\.~:\u202e\u2066\u2028\x85\xa0"),
    ),
    max_size=60,
)
PATHS = st.lists(st.sampled_from(["/", ".", "..", "./", "~", "a", "\\", "C:", " ", "\x1b"]), max_size=8).map("".join)
OVERRIDES = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def is_printable(text: str, *, also: str = "") -> bool:
    return all(c in also or (unicodedata.category(c) not in ("Cc", "Cs") and c not in OVERRIDES) for c in text)


@given(HOSTILE)
def test_a_clean_line_holds_no_control_character_and_stays_as_it_is(text):
    try:
        line = clean_line(text, what="title")
    except InvalidInput:
        return
    assert is_printable(line)
    assert len(line.splitlines()) == 1
    assert clean_line(line, what="title") == line
    line.encode()


@given(HOSTILE)
def test_clean_text_holds_only_newlines_and_tabs_and_stays_as_it_is(text):
    kept = clean_text(text, what="description")
    assert is_printable(kept, also="\n\t")
    assert clean_text(kept, what="description") == kept
    kept.encode()


@given(st.lists(HOSTILE, max_size=5))
def test_clean_lists_stay_as_they_are(items):
    kept = clean_lines(items, what="tags")
    assert all(map(is_printable, kept))
    assert clean_lines(kept, what="tags") == kept


@given(HOSTILE | PATHS)
@example("./ .//")
@example("./ .")
def test_a_clean_path_never_leads_out_of_the_repository(text):
    try:
        kept = clean_paths([text], what="context_files")
    except InvalidInput:
        return
    for path in kept:
        assert path
        assert not path.startswith(("/", "~"))
        assert ".." not in path.split("/")
    assert clean_paths(kept, what="context_files") == kept


@given(HOSTILE)
def test_a_clean_name_stays_as_it_is(text):
    try:
        name = clean_name(text, what="feature")
    except InvalidInput:
        return
    assert clean_name(name, what="feature") == name
    assert is_printable(name)
    assert " " not in name
