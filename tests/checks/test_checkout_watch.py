"""What passes is what is in the commit: nobody changes its files while a check runs, and nothing at home counts."""

import json
from pathlib import Path

import pytest

from checks.checked_repository import BROKEN_CART, TESTS, make_check
from checks.checked_repository import CART as GOOD_CART
from runner.repositories import Repository

CART = "def total(prices):\n    return 7\n"


@pytest.mark.parametrize(
    ("script", "verdict"),
    [
        ("printf better > cart.py", "could_not_run"),
        ("rm cart.py", "could_not_run"),
        ("mv cart.py kept; ln -s kept cart.py", "could_not_run"),
        ("touch cart.py", "pass"),
        ("cp cart.py kept; cp kept cart.py", "pass"),
        ("printf made > report.txt", "pass"),
    ],
)
def test_a_check_that_changes_files_of_the_commit_proves_nothing(checked, script, verdict):
    found = checked.test({"cart.py": CART}, f"sh -c {script!r}")
    assert found.verdict == verdict
    assert ("files of the commit were changed while the check ran: cart.py" in found.reason) == (verdict != "pass")


@pytest.mark.parametrize("script", ["printf better > cart.py", "rm cart.py", "rm cart.py; ln -s README cart.py"])
def test_what_a_setup_changes_of_the_commit_is_put_back(checked, script):
    check = make_check(
        "sh -c 'grep 7 cart.py && grep made made.txt'", setup=json.dumps(f"sh -c '{script}; echo made > made.txt'")
    )
    assert checked.run(check, checked.branch({"cart.py": CART})).verdict == "pass"


def test_a_setup_that_lets_nobody_put_files_back_proves_nothing(checked):
    check = make_check("true", setup=json.dumps("sh -c 'rm cart.py; touch .git/index.lock; mkdir cart.py'"))
    found = checked.run(check, checked.branch({"cart.py": CART}))
    assert found.verdict == "could_not_run"


def test_files_that_git_writes_in_another_way_than_it_stores_them_are_no_change(checked):
    files = {".gitattributes": "*.bat text eol=crlf\n*.u text working-tree-encoding=UTF-16LE\n", "run.bat": "echo\n"}
    found = checked.test({**files, "cart.py": CART}, "sh -c 'touch run.bat; grep 7 cart.py'")
    assert found.verdict == "pass", found.reason


EDITS_THE_BASE = f"""\
import pathlib

if pathlib.Path("mark.txt").exists():
    pathlib.Path("cart.py").write_text({BROKEN_CART!r})
"""


def test_a_base_whose_files_were_changed_excuses_no_failure(checked):
    """Somebody who breaks the checkout of the base makes failures of the change look as if they were old."""
    checked.base = checked.repo.commit("a trap", {"conftest.py": EDITS_THE_BASE, "mark.txt": "here\n"})
    found = checked.test({"cart.py": BROKEN_CART, "mark.txt": None})
    assert found.verdict == "fail"
    assert (len(found.new_failed), found.old_failed) == (2, ())


def test_a_change_with_old_failures_only_is_watched_as_any_other(checked):
    old = TESTS + "\n\ndef test_old():\n    assert total([1]) == 2\n"
    mends = f"import pathlib\n\npathlib.Path('cart.py').write_text({GOOD_CART!r})\n"
    checked.base = checked.repo.commit("an old failure", {"tests/test_cart.py": old})
    found = checked.test({"cart.py": BROKEN_CART, "conftest.py": mends})
    assert found.verdict == "could_not_run"
    assert "files of the commit were changed while the check ran: cart.py" in found.reason


def test_filters_and_attributes_of_a_home_change_no_checkout(checked, tmp_path):
    home = Repository(tmp_path / "home")
    home.git("config", "--global", "filter.fine.smudge", "echo good")
    home.git("config", "--global", "core.attributesFile", str(tmp_path / "attributes"))
    (tmp_path / "attributes").write_text("* filter=fine\n")
    place = Path(tmp_path / "config" / "git" / "attributes")
    place.parent.mkdir(parents=True)
    place.write_text("* filter=fine\n")
    found = checked.test({"a.txt": "bad\n", ".gitattributes": "a.txt filter=fine\n"}, "grep good a.txt")
    assert found.verdict == "fail"
