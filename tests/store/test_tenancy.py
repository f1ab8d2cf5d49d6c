"""Which schema of a database is a project's: a rule of values."""

import pytest

from binnacle.errors import ConfigError
from binnacle.store.engines.project_schema import SchemaOwner, SchemaTenant, choose_schema, parse_owner, schema_name

SHOP = SchemaOwner(binnacle="shop", repositories=("origin:x", "root:1"))


def tenant(name="shop", *prints, is_named=False):
    return SchemaTenant(name=name, is_named=is_named, fingerprints=frozenset(prints or ("root:1",)))


def test_one_fingerprint_in_common_suffices_and_the_others_are_learned():
    choice = choose_schema({"bn_shop": SHOP}, tenant("renamed", "root:1", "mark:m"))
    assert (choice.schema, choice.owner.binnacle, choice.is_recorded) == ("bn_shop", "shop", False)
    assert choice.owner.repositories == ("mark:m", "origin:x", "root:1")
    assert choose_schema({"bn_shop": SHOP}, tenant("shop", "root:1")).is_recorded


def test_of_several_that_belong_to_the_repository_the_one_of_the_name_is_taken():
    schemas = {"bn_shop": SHOP, "bn_two": SchemaOwner(binnacle="two", repositories=("root:1",))}
    assert choose_schema(schemas, tenant("two")).schema == "bn_two"
    with pytest.raises(ConfigError, match="shop, two"):
        choose_schema(schemas, tenant("three"))
    assert choose_schema(schemas, tenant("three", is_named=True)).schema == "bn_three"


def test_a_schema_that_nobody_has_is_taken():
    assert choose_schema({"bn_shop": None}, tenant()).schema == "bn_shop"
    assert choose_schema({"binnacle": None}, tenant()).schema == "binnacle"
    assert choose_schema({"binnacle": SHOP}, tenant("blog", "root:2")).schema == "bn_blog"


@pytest.mark.parametrize("is_named", [True, False])
def test_another_name_with_the_same_schema_is_refused(is_named):
    schemas = {"bn_a_b": SchemaOwner(binnacle="a-b", repositories=("root:2",))}
    with pytest.raises(ConfigError, match="'a-b'"):
        choose_schema(schemas, tenant("a_b", is_named=is_named))


@pytest.mark.parametrize("name", ["shop", "Größe", "日本", "x" * 200, "a b;drop schema", "-", '"'])
def test_every_name_gives_a_plain_schema(name):
    schema = schema_name(name)
    assert schema.isascii()
    assert schema.replace("_", "a").isalnum()
    assert len(schema) <= 50


@pytest.mark.parametrize("comment", [None, "", "standard public schema", "{}", "[1]", '{"binnacle":1}'])
def test_a_comment_that_is_not_ours_says_nothing(comment):
    assert parse_owner(comment) is None
