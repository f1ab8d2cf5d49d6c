"""Where hosts and clients of these tests keep what they share: beside the tests' own files."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="package", autouse=True)
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BN_DATA_DIR", str(tmp_path_factory.getbasetemp() / "bridge-data"))
        yield
