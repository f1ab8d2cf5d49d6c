"""Servers of planned sessions, as the scenarios start them."""

from cli.conftest import bn  # noqa: F401 - fixtures, all of them
from scenarios.conftest import connect, planned, sessions, store, write_recipe  # noqa: F401
