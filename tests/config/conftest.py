import pytest


@pytest.fixture(autouse=True)
def home(tmp_path_factory, monkeypatch):
    """A home of its own, and no setting from outside."""
    for name in ("BN_REPO", "BN_DATA_DIR", "BN_STORE_URL", "BN_STORE_SCHEMA", "BN_STORE_TIMEOUT", "BN_CLAIM_MINUTES"):
        monkeypatch.delenv(name, raising=False)
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    return home
