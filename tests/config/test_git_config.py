"""Git's configuration is read without running git."""

import pytest

from binnacle.config.git_config import normalise_url, read_origin


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/team/shop.git",
        "https://ann:secret@Example.com/team/shop",
        "ssh://git@example.com:22/team/shop.git/",
        "git@example.com:team/shop.git",
        "example.com:/team/shop",
    ],
)
def test_every_way_to_write_an_address_gives_the_same_without_a_password(url):
    assert normalise_url(url) == "example.com/team/shop"


@pytest.mark.parametrize(
    ("url", "same"),
    [("/srv/shop.git", "/srv/shop"), ("file:///srv/shop.git", "/srv/shop"), ("", ""), ("../up", "../up")],
)
def test_a_path_stays_a_path(url, same):
    assert normalise_url(url) == same


def test_only_the_address_of_origin_counts(tmp_path):
    config = '[remote "fork"]\n\turl = a.example:x\n[Remote "origin"]\n\tURL = b.example:y\n\tfetch = +refs\n'
    (tmp_path / "config").write_text(config)
    assert read_origin(str(tmp_path)) == "b.example/y"


def test_a_file_that_includes_itself_is_read_to_an_end(tmp_path):
    (tmp_path / "config").write_text('[include]\n\tpath = config\n[remote "origin"]\n\turl = b.example:y\n')
    assert read_origin(str(tmp_path)) == "b.example/y"


@pytest.mark.parametrize("content", ["", "[", "[remote", "= = =", '[remote "origin"]\nurl', "\x00\xff", '[x]\ny="\\'])
def test_a_file_with_anything_in_it_is_no_error(tmp_path, content):
    (tmp_path / "config").write_text(content)
    assert read_origin(str(tmp_path)) == ""
