"""What passes is what is in the commit: nobody changes its files while a check runs, and nothing at home counts."""

from pathlib import Path

import pytest

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
