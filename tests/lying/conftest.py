"""A repository with a trusted check, its store on each engine, and agents that come to it."""

import pytest

from cli.conftest import bn  # noqa: F401 - the fixture


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch) -> None:
    """The home of the agents, which write into it, and of everything else in the test."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("BN_DATA_DIR", str(tmp_path / "data"))


@pytest.fixture(params=["sqlite", "postgres"])
def engine(request, bn) -> str:  # noqa: F811
    """The store of the repository on each engine."""
    if request.param == "postgres":
        place = request.getfixturevalue("postgres_place")
        bn.env |= {"BN_STORE_URL": place.where, "BN_STORE_SCHEMA": place.schema}
    return request.param
