"""Variables in a configuration: filled in, or named as missing, but never silently empty."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binnacle.upstream.configuration.variable_expansion import ProjectVariables, has_variable

ENVIRON = {"A": "one", "B_2": "two", "EMPTY": "", "TRICK": "${A}", "BN_INPUT_MY_KEY": "typed", "HOME": "/home/ann"}


@pytest.fixture
def variables() -> ProjectVariables:
    return ProjectVariables(ENVIRON, repo="/src/shop")


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("plain", "plain"),
        ("${A}", "one"),
        ("${env:A}", "one"),
        ("x-${A}-${B_2}-y", "x-one-two-y"),
        ("${NOPE:-default}", "default"),
        ("${NOPE:-}", ""),
        ("${EMPTY}", ""),
        ("${EMPTY:-default}", "default"),
        ("${env:NOPE:-default}", "default"),
        ("${NOPE:-${A}}", "one"),
        ("${NOPE:-${ALSO:-${B_2}}!}", "two!"),
        ("${TRICK}", "${A}"),
        ("$${A} and $A", "${A} and $A"),
        ("$$", "$$"),
        ("${input:my-key}", "typed"),
        ("${workspaceFolder}/${workspaceFolderBasename}", "/src/shop/shop"),
        ("${userHome}", "/home/ann"),
        ("http://${A:-h}:80/}", "http://one:80/}"),
    ],
)
def test_what_stands_for_what(variables, text, filled):
    assert variables.fill(text) == (filled, [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("${NOPE}", "${NOPE} is not defined"),
        ("${env:NOPE}", "${env:NOPE} is not defined"),
        ("${NOPE:-${ALSO}}", "${ALSO} is not defined"),
        ("${input:other}", "${input:other} is not defined"),
        ("${config:editor.x}", "${config:editor.x} is no variable"),
        ("pa${ss", "a '${' in it is not closed"),
        ("${}", "a '${…}' in it is no variable"),
        ("${my password!}", "a '${…}' in it is no variable"),
    ],
)
def test_what_is_missing_is_named(variables, text, message):
    _, (gap,) = variables.fill(text)
    assert gap.message == message
    assert gap.hint


@given(st.text(alphabet="${}:-Aa_1 ", max_size=40))
def test_any_text_is_filled_in_or_explained(text):
    filled, gaps = ProjectVariables({"A": "v"}, repo="/r").fill(text)
    assert isinstance(filled, str)
    if not has_variable(text) and "$${" not in text:
        assert (filled, gaps) == (text, [])


@given(st.text(max_size=30))
def test_a_value_is_taken_as_it_is(value):
    assert ProjectVariables({"A": value}, repo="/r").fill("<${A}>") == (f"<{value}>", [])
