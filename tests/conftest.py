"""What tests of every layer share: a place for a store, on each engine."""

import itertools
import os
import random
import sys
from collections.abc import Iterator

import psycopg
import pytest
from hypothesis import HealthCheck, settings

import postgres_server
from binnacle.store.store import Store
from places import Place
from prepared_stores import SCHEMA, PreparedDatabase, copy_sqlite_file, make_sqlite_file

# Tests start thousands of interpreters. Each would compile every module that it loads where an environment forbids
# bytecode, as images of containers do; so would each worker, with every test.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Every run tries the same examples: a failure is then about the change under test. A function's
# store may be shared by its examples; the tests that do so say what they leave behind.
EXAMPLES = {"quick": 30, "deep": 500}
"""Examples of each property: in `make test`, and in `make test-all`."""

for name, count in EXAMPLES.items():
    settings.register_profile(
        name,
        deadline=None,
        derandomize=True,
        max_examples=count,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
settings.load_profile(os.environ.get("BN_TEST_EXAMPLES", "quick"))

ORDER = os.environ.get("BN_TEST_ORDER", "")

_numbers = itertools.count(1)


def pytest_xdist_auto_num_workers() -> int:
    """Two for each core: half of the time a test waits for a process, a timeout or a kill."""
    return 2 * (os.cpu_count() or 1)


def pytest_report_header() -> str | None:
    return f"order: BN_TEST_ORDER={ORDER}" if ORDER else None


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips what only Linux guarantees where that is hidden: `@pytest.mark.linux_only("why")`."""
    if os.environ.get("BN_PORTABLE") == "1" and (mark := item.get_closest_marker("linux_only")):
        pytest.skip(mark.args[0])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Runs modules, and the tests of each, in the order that `BN_TEST_ORDER` chooses: any word is a seed."""
    if not ORDER:
        return
    places = random.Random(ORDER)
    of_module = {name: places.random() for name in sorted({item.location[0] for item in items})}
    items.sort(key=lambda item: (of_module[item.location[0]], places.random()))


@pytest.fixture(scope="session", autouse=True)
def _own_folder_for_inner_runs(tmp_path_factory) -> Iterator[None]:
    """A pytest that a test starts keeps its temporary folders here.

    At its end it removes what earlier runs of the same user left. That would be the folders of whole suites, which
    takes minutes under a debugger: a debugged test then seems to hang.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DEBUG_TEMPROOT", str(tmp_path_factory.mktemp("inner-runs")))
        yield


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A server that lives as long as this test process."""
    with postgres_server.running() as url:
        yield url


@pytest.fixture
def own_postgres() -> Iterator[postgres_server.Server]:
    """A server of its own, which the test may stop, kill and start again."""
    with postgres_server.restartable() as server:
        yield server


@pytest.fixture
def sqlite_place(tmp_path) -> Iterator[Place]:
    place = Place("sqlite", str(tmp_path / "data" / "store.db"))
    yield place
    place.close()


@pytest.fixture
def postgres_place(postgres_url) -> Iterator[Place]:
    place = Place("postgres", postgres_url, schema=f"test_{os.getpid()}_{next(_numbers)}")
    yield place
    place.close()
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute("set client_min_messages to warning")
        db.execute(f"drop schema if exists {place.schema} cascade")


@pytest.fixture(scope="session")
def prepared_database(postgres_url) -> Iterator[PreparedDatabase]:
    """A database with a store in it."""
    with PreparedDatabase(postgres_url) as database:
        yield database


@pytest.fixture(scope="session")
def prepared_file(tmp_path_factory) -> str:
    """A file with a store in it."""
    path = str(tmp_path_factory.mktemp("prepared") / "data" / "store.db")
    make_sqlite_file(path)
    return path


@pytest.fixture
def prepared_sqlite_place(sqlite_place, prepared_file) -> Place:
    copy_sqlite_file(prepared_file, sqlite_place.where)
    return sqlite_place


@pytest.fixture
def prepared_postgres_place(prepared_database) -> Iterator[Place]:
    with prepared_database.lend():
        place = Place("postgres", prepared_database.url, schema=SCHEMA)
        yield place
        place.close()


@pytest.fixture(params=["sqlite", "postgres"])
def place(request) -> Place:
    """A place on each engine; the same test runs on both. There is a store in it if the test asks for `store`, too."""
    kind = "prepared_" if "store" in request.fixturenames else ""
    return request.getfixturevalue(f"{kind}{request.param}_place")


@pytest.fixture
def store(place) -> Store:
    """An empty store on each engine."""
    return place.open()
