"""Who reviews what is written with the checks, and has an effect exactly as a person trusted it."""

from pathlib import Path

import pytest

from binnacle.config import trust
from binnacle.config.directories import trust_file
from binnacle.errors import ConfigError
from binnacle.project.check_file import find_checks, find_trust_items, read_check_file
from binnacle.project.check_gate import find_gate_checks
from binnacle.project.review_rules import find_review_policy
from binnacle.work.review_policy import NO_REVIEWS, ReviewRule, find_need

RULES = """
review:
  default: agent
  reviewers: 3
  rounds: 2
  rules:
    - require: person
      features: [Auth]
      priorities: [critical, P1, 2]
      paths: [src/pay/**]
"""


@pytest.fixture
def repo(tmp_path, monkeypatch):
    """A repository with rules for reviews, in an own configuration."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / "repo" / ".binnacle"
    folder.mkdir(parents=True)
    (folder / "checks.yaml").write_text(RULES)
    return str(tmp_path / "repo")


def rewrite(repo, text):
    Path(repo, ".binnacle", "checks.yaml").write_text(text)


def trust_all(repo):
    trust.keep(repo, find_trust_items(repo), by="ann", at="now", how="terminal")


def test_rules_are_read_and_shown_completely(repo):
    policy = read_check_file(repo).review
    assert (policy.default, policy.reviewers, policy.rounds) == ("agent", 3, 2)
    assert policy.rules == (
        ReviewRule(
            require="person", features=("auth",), priorities=("critical", "high", "medium"), paths=("src/pay/**",)
        ),
    )
    (item,) = find_trust_items(repo)
    assert item.key == "check:review"
    assert all(word in item.content for word in ("person", "auth", "critical", "src/pay/**", "3", "2", "agent"))
    assert item.place.endswith("checks.yaml:2")


def test_rules_of_a_clone_have_no_effect_until_a_person_trusts_them(repo):
    assert find_review_policy(repo) == NO_REVIEWS
    trust_all(repo)
    assert find_review_policy(repo) == read_check_file(repo).review


@pytest.mark.parametrize(
    "text", ["", "checks: []\n", "review: {default: none}\n", RULES.replace("person", "none"), "review: 3\n", "{"]
)
def test_whoever_edits_the_file_changes_nothing_of_what_was_trusted(repo, text):
    trust_all(repo)
    before = find_review_policy(repo)
    rewrite(repo, text)
    assert find_review_policy(repo) == before
    Path(repo, ".binnacle", "checks.yaml").unlink()
    assert find_review_policy(repo) == before
    trust.forget(repo)
    assert find_review_policy(repo) == NO_REVIEWS


@pytest.mark.parametrize("content", ["", "{", "[]", '{"default": "nobody"}'])
def test_what_cannot_be_read_any_more_needs_a_person(repo, content):
    (item,) = find_trust_items(repo)
    broken = trust.TrustItem(kind="check", name="review", place=item.place, does=item.does, content=content)
    trust.keep(repo, [broken], by="ann", at="now", how="terminal")
    assert find_need(find_review_policy(repo), feature=None, priority=4).require == "person"
    Path(trust_file()).write_text("{")
    with pytest.raises(ConfigError):
        find_review_policy(repo)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("review: {default: everybody}", "everybody|none"),
        ("review: {reviewers: 0}", ">= 1"),
        ("review: {rounds: 99}", "<= 20"),
        ("review: {rules: [{features: [a]}]}", "require"),
        ("review: {rules: [{require: person, paths: [../x]}]}", "not a pattern"),
        ('review: {rules: [{require: person, paths: ["a\\nb"]}]}', "not a pattern"),
        ("review: {rules: [{require: person, paths: ['']}]}", "not a pattern"),
        ("review: {rules: [{require: person, features: ['a/b']}]}", "not a feature name"),
        ("review: {rules: [{require: person, priorities: [urgent]}]}", "unknown priority"),
        ("review: {rules: [{require: person, surprise: 1}]}", "surprise"),
        ("checks: [{name: review, command: make}]", "not a name for a check"),
        ("checks: [{name: protect, command: make}]", "not a name for a check"),
    ],
)
def test_a_mistake_is_named_with_its_line(repo, text, words):
    rewrite(repo, f"{text}\n")
    with pytest.raises(ConfigError, match=words) as caught:
        read_check_file(repo)
    assert "checks.yaml:1" in caught.value.message


def test_policies_are_not_checks(repo):
    rewrite(repo, f"{RULES}\nprotect: {{test_removed: ask}}\nchecks:\n  - {{name: tests, command: make test}}\n")
    trust_all(repo)
    assert [one.name for one in find_checks(repo)] == ["tests"]
    assert [(one.name, one.problem) for one in find_gate_checks(repo)] == [("tests", "")]
