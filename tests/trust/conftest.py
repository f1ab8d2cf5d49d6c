"""A repository with the real `bn`, as for the tests of the command."""

from cli.conftest import bn  # noqa: F401 - the fixture
