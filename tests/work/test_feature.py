"""Features and disciplines: names that differ, acronyms that are free, texts within bounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binnacle.errors import Duplicate, InvalidInput
from binnacle.work.feature import (
    Discipline,
    Feature,
    change_discipline,
    change_feature,
    check_is_new,
    derive_acronym,
    validate_feature,
)
from places import NOW

FEATURE = Feature(name="login", title="Login", acronym="LOGI", created_at=NOW, updated_at=NOW)
DISCIPLINE = Discipline(name="backend", title="Backend", acronym="BACK", created_at=NOW, updated_at=NOW)


@pytest.mark.parametrize(
    ("name", "acronym"),
    [
        ("user-interface-kit", "UIKX"),
        ("authentication", "AUTH"),
        ("a-b-c-d-e", "ABCD"),
        ("db", "DBXX"),
        ("api_v2", "APIV"),
        ("日本", "XXXX"),
    ],
)
def test_an_acronym_follows_from_the_name(name, acronym):
    assert derive_acronym(name, ()) == acronym


@given(st.lists(st.text("abcdefg-_0123456789", min_size=1, max_size=12), min_size=1, max_size=60))
def test_derived_acronyms_are_four_characters_and_never_repeat(names):
    taken: set[str] = set()
    for name in names:
        acronym = derive_acronym(name, taken)
        assert len(acronym) == 4
        assert acronym.isalnum()
        assert acronym not in taken
        taken.add(acronym)


def test_the_hundredth_of_the_same_name_still_gets_an_acronym():
    taken: set[str] = set()
    for _ in range(300):
        taken.add(derive_acronym("authentication", taken))
    assert len(taken) == 300


@pytest.mark.parametrize("acronym", ["auth", " AUTH ", "a1b2"])
def test_an_acronym_is_put_into_capitals(acronym):
    assert change_feature(FEATURE, {"acronym": acronym}).acronym == acronym.strip().upper()


@pytest.mark.parametrize("acronym", ["", "ABC", "ABCDE", "A-BC", "ÄBCD"])
def test_an_acronym_is_four_letters_or_digits(acronym):
    with pytest.raises(InvalidInput, match="four letters or digits"):
        change_feature(FEATURE, {"acronym": acronym})


@pytest.mark.parametrize(
    ("name", "existing"),
    [
        ("authentication", "auth"),
        ("auth", "authentication"),
        ("log-in", "login"),
        ("payments", "payment"),
        ("notificaton", "notification"),
        ("user_profile", "user-profile"),
    ],
)
def test_a_near_duplicate_is_refused_with_the_existing_one_unless_forced(name, existing):
    with pytest.raises(Duplicate, match=f"nearly the same as '{existing}'") as caught:
        check_is_new(name, ["search", existing], what="feature")
    assert caught.value.details == {"existing": existing}
    check_is_new(name, ["search", existing], what="feature", force=True)


@pytest.mark.parametrize(
    ("name", "existing"), [("api-v1", "api-v2"), ("login", "logging"), ("ui", "ux"), ("api", "apis-x")]
)
def test_names_that_differ_are_accepted(name, existing):
    assert check_is_new(name, [existing], what="feature") is None


def test_a_name_that_exists_is_refused_even_by_force():
    with pytest.raises(Duplicate, match="exists already"):
        check_is_new("login", ["login"], what="feature", force=True)


def test_the_texts_of_a_feature_are_cleaned():
    clean = validate_feature(
        Feature(
            name="login",
            title=" Log\x1bin ",
            acronym="logi",
            description="a\x00b\n",
            context_files=("./a.py",),
            dependencies=("User Data",),
            created_at=NOW,
            updated_at=NOW,
        )
    )
    assert (clean.title, clean.acronym, clean.description) == ("Login", "LOGI", "ab")
    assert (clean.context_files, clean.dependencies) == (("a.py",), ("user-data",))


@pytest.mark.parametrize("name", ["description", "architecture", "boundaries"])
def test_prose_that_goes_into_prompts_is_bounded(name):
    change_feature(FEATURE, {name: "x" * 3000})
    with pytest.raises(InvalidInput, match="3001 characters"):
        change_feature(FEATURE, {name: "x" * 3001})


@pytest.mark.parametrize(("name", "limit"), [("knowledge_paths", 10), ("context_files", 30)])
def test_the_lists_of_a_feature_are_bounded(name, limit):
    with pytest.raises(InvalidInput, match=f"at most {limit}"):
        change_feature(FEATURE, {name: tuple(f"{n}.md" for n in range(limit + 1))})


@pytest.mark.parametrize("name", ["name", "created_at", "titel"])
def test_what_a_feature_does_not_have_is_not_changed(name):
    with pytest.raises(InvalidInput, match=f"a feature has no field '{name}'"):
        change_feature(FEATURE, {name: "x"})


def test_a_misspelt_field_of_a_discipline_gets_the_nearest():
    with pytest.raises(InvalidInput) as caught:
        change_discipline(DISCIPLINE, {"convention": "x"})
    assert caught.value.hint == "did you mean 'conventions'?"


def test_the_texts_of_a_discipline_are_cleaned():
    changed = change_discipline(
        DISCIPLINE, {"icon": "\x1b🔧", "skills": ("SQL", "SQL", ""), "denied_tools": ("debug_*",)}
    )
    assert (changed.icon, changed.skills, changed.denied_tools) == ("🔧", ("SQL",), ("debug_*",))
