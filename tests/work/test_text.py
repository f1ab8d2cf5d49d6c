"""Text made safe to keep and to print."""

import pytest

from binnacle.errors import InvalidInput, did_you_mean, nearest
from binnacle.work.text import clean_line, clean_lines, clean_name, clean_paths, clean_text, fold, take_last_lines


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("  mend \t the\nform ", "mend the form"),
        ("\x1b[31mred\x1b[0m", "[31mred[0m"),
        ("before\x00after", "before after"),
        ("bell\x07 and c1 \x9b31m", "bell and c1 31m"),
        ("a\u202eb\u2066c\u2069", "abc"),
        ("lone \udc80 surrogate", "lone ? surrogate"),
        ("naïve 日本 👩‍🚀", "naïve 日本 👩‍🚀"),
    ],
)
def test_a_line_is_one_line_without_control_characters(given, kept):
    assert clean_line(given, what="title") == kept


@pytest.mark.parametrize("text", ["", "   ", "\n\t", "\x1b\x07", "\u202e"])
def test_a_line_with_nothing_to_see_is_refused(text):
    with pytest.raises(InvalidInput, match="title is empty"):
        clean_line(text, what="title")


def test_text_keeps_lines_and_tabs():
    assert clean_text("\n one\r\n\ttwo\x1b[0m\x00 \n", what="description") == "one\n\ttwo[0m"


def test_the_limit_is_the_last_length_accepted():
    assert len(clean_line("x" * 300, what="title")) == 300
    with pytest.raises(InvalidInput, match="title has 301 characters, at most 300"):
        clean_line("x" * 301, what="title")


def test_too_long_text_is_refused_not_cut():
    assert len(clean_text("x" * 50_000, what="description")) == 50_000
    with pytest.raises(InvalidInput, match="description has 50001 characters"):
        clean_text("x" * 50_001, what="description")


def test_what_cleaning_takes_away_does_not_count_towards_the_limit():
    assert clean_line("x" * 300 + "\x00" * 50, what="title") == "x" * 300


def test_lists_keep_order_and_drop_repeats_and_empty_entries():
    assert clean_lines(["b", " a ", "", "b", "\x1b"], what="tags") == ("b", "a")


def test_a_list_that_is_too_long_is_refused():
    with pytest.raises(InvalidInput, match="101 entries in tags, at most 100"):
        clean_lines([str(number) for number in range(101)], what="tags")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("src/a.py", "src/a.py"),
        ("./src/a.py", "src/a.py"),
        ("src\\win\\a.py", "src/win/a.py"),
        (".github/ci.yml", ".github/ci.yml"),
        ("a..b/c", "a..b/c"),
        ("././docs/./a.md", "docs/a.md"),
    ],
)
def test_paths_inside_the_repository_are_kept(given, kept):
    assert clean_paths([given], what="context_files") == (kept,)


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "~/.ssh/id_rsa",
        "../other",
        "src/../../other",
        "C:\\Windows",
        "..\\other",
        "\x1b/etc/passwd",
        ".//etc/passwd",
        "././/etc/passwd",
        "./~/.ssh/id_rsa",
        "./C:/Windows",
    ],
)
def test_paths_that_lead_out_of_the_repository_are_refused(path):
    with pytest.raises(InvalidInput, match="must be inside the repository"):
        clean_paths([path], what="context_files")


def test_the_same_path_spelled_twice_is_kept_once():
    assert clean_paths(["src/a.py", "./src/a.py", "src\\a.py"], what="context_files") == ("src/a.py",)


def test_the_root_itself_is_no_path_worth_keeping():
    assert clean_paths([".", "./", "docs"], what="context_files") == ("docs",)


def test_names_become_lower_case_with_dashes():
    assert clean_name("  User Login ", what="feature") == "user-login"
    assert clean_name("api_v2", what="feature") == "api_v2"


@pytest.mark.parametrize("text", ["", "-x", "_x", "a/b", "a.b", "x" * 65, "a\u0301b\u0301", "<script>"])
def test_what_cannot_be_a_name_is_refused(text):
    with pytest.raises(InvalidInput, match="not a feature name"):
        clean_name(text, what="feature")


def test_titles_are_the_same_when_they_differ_in_case_and_space_only():
    assert fold("  Mend the  FORM ") == fold("mend the form")
    assert fold("STRASSE") == fold("straße")
    assert fold("mend the form") != fold("mend the forms")


def test_the_nearest_choice_ignores_case():
    assert nearest("BACKEDN", ["Frontend", "Backend"]) == "Backend"
    assert nearest("zzz", ["Frontend", "Backend"]) is None


def test_a_hint_names_the_nearest_or_all_when_they_are_few():
    assert did_you_mean("stroe", ["store", "work"]) == "did you mean 'store'?"
    assert did_you_mean("zzz", ["store", "work"]) == "one of: store, work"
    assert did_you_mean("zzz", []) == ""
    assert did_you_mean("zzz", [f"choice-{number}" for number in range(21)]) == ""


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("one\ntwo", "one\ntwo"),
        ("one\ntwo\nthree\nfour", "three\nfour"),
        ("a line that has no end", "has no end"),
        ("a line that goes\non", "at goes\non"),
    ],
)
def test_the_end_of_a_text_begins_with_a_line(text, kept):
    assert take_last_lines(text, 10) == kept
