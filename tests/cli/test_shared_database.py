"""Several projects in one PostgreSQL database: each has a schema of its own, which says whose it is."""

import itertools
import os
import shutil
import subprocess
from pathlib import Path

import psycopg
import pytest

from cli.conftest import Bn

_numbers = itertools.count(1)


@pytest.fixture
def database(postgres_url):
    """An empty database of its own."""
    name = f"shared_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute(f"create database {name}")
    yield psycopg.conninfo.make_conninfo(postgres_url, dbname=name)
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute(f"drop database {name} with (force)")


@pytest.fixture
def url(database):
    parts = psycopg.conninfo.conninfo_to_dict(database)
    query = "&".join(f"{key}={value}" for key, value in parts.items() if key not in ("dbname", "user"))
    return f"postgresql://{parts.get('user', '')}@/{parts['dbname']}?{query}"


@pytest.fixture
def machine(bn, url):
    """A repository at a place, on a machine of its own, with the database set for all of them."""

    def make(path: Path, **env: str) -> Bn:
        machine = str(path).replace("/", "_")
        own = {"BN_STORE_URL": url, "BN_DATA_DIR": f"{bn.env['BN_DATA_DIR']}/{machine}"}
        return Bn(path, bn.env | own | env)

    return make


def git(*words, at):
    command = ["git", "-c", "user.name=ann", "-c", "user.email=ann@example.com", *words]
    subprocess.run(command, cwd=at, check=True, capture_output=True, timeout=60)


def new_repository(path: Path, *, commit: str = "") -> Path:
    path.mkdir(parents=True)
    git("init", at=path)
    if commit:
        git("commit", "--allow-empty", "-m", commit, at=path)
    return path


def titles(bn: Bn) -> list[str]:
    return [task["title"] for task in bn("ready")["tasks"]]


def schema_of(bn: Bn) -> str:
    return bn("store", "show")["location"].rpartition("schema ")[2].rstrip(")")


def test_two_repositories_have_a_schema_each(machine, tmp_path):
    shop, blog = machine(new_repository(tmp_path / "shop")), machine(new_repository(tmp_path / "my-blog"))
    shop.add("One")
    blog.add("Two")
    assert (titles(shop), titles(blog)) == (["One"], ["Two"])
    assert (schema_of(shop), schema_of(blog)) == ("bn_shop", "bn_my_blog")


def test_clones_share_the_project_under_every_name(machine, tmp_path):
    shop = machine(new_repository(tmp_path / "shop", commit="first"))
    shop.add("One")
    git("clone", str(shop.repo), "laptop", at=tmp_path)
    assert titles(machine(tmp_path / "laptop")) == ["One"]
    git("commit", "--allow-empty", "-m", "second", at=shop.repo)
    git("clone", "--bare", str(shop.repo), "server.git", at=tmp_path)
    for name in ("left", "right"):
        git("clone", "--depth=1", f"file://{tmp_path}/server.git", name, at=tmp_path)
    machine(tmp_path / "left").add("Two")
    assert titles(machine(tmp_path / "right")) == ["Two"], "cut off histories are known by their origin"


def test_renaming_a_repository_keeps_its_project(machine, tmp_path):
    shop = machine(new_repository(tmp_path / "shop"))
    shop.add("One")
    shop.repo.rename(tmp_path / "store")
    assert titles(Bn(tmp_path / "store", shop.env)) == ["One"]
    git("commit", "--allow-empty", "-m", "first", at=tmp_path / "store")
    assert titles(Bn(tmp_path / "store", shop.env)) == ["One"]


def test_another_repository_of_the_same_name_is_refused_until_it_is_named(machine, tmp_path):
    machine(new_repository(tmp_path / "a" / "shop", commit="first")).add("One")
    other = machine(new_repository(tmp_path / "b" / "shop", commit="other"))
    error = other.fails("task", "add", "Two")
    assert error["code"] == "E_CONFIG"
    assert "bn config set store.project NAME" in error["hint"]
    other("config", "set", "store.project", "shop-b")
    other.add("Two")
    assert titles(other) == ["Two"]
    sharing = Bn(other.repo, other.env | {"BN_STORE_PROJECT": "shop"})
    assert titles(sharing) == ["One"], "a name that a person gives is their word"


def test_names_that_give_one_schema_are_not_mixed(machine, tmp_path):
    machine(new_repository(tmp_path / "a-b")).add("One")
    other = machine(new_repository(tmp_path / "a_b"), BN_STORE_PROJECT="a_b")
    assert "'a-b'" in other.fails("ready")["message"]


def test_a_schema_that_is_set_is_used_as_it_is(machine, tmp_path):
    for name in ("one", "two"):
        machine(new_repository(tmp_path / name), BN_STORE_SCHEMA="team").add(name)
    assert titles(machine(tmp_path / "one", BN_STORE_SCHEMA="team")) == ["one", "two"]


def test_a_database_from_before_projects_had_names_is_carried_over(machine, tmp_path):
    path = new_repository(tmp_path / "shop", commit="first")
    machine(path, BN_STORE_SCHEMA="binnacle").add("One")
    assert titles(machine(path)) == ["One"]
    assert schema_of(machine(path)) == "binnacle"
    other = machine(new_repository(tmp_path / "blog", commit="other"))
    other.add("Two")
    assert (titles(other), schema_of(other)) == (["Two"], "bn_blog")
    git("clone", str(path), "shop2", at=tmp_path)
    assert titles(machine(tmp_path / "shop2")) == ["One"]


def test_a_folder_outside_of_git_has_a_project_too(machine, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name / "notes").mkdir(parents=True)
    one = machine(tmp_path / "a" / "notes")
    one.add("One")
    assert titles(one) == ["One"]
    assert "another repository" in machine(tmp_path / "b" / "notes").fails("ready")["message"]


def test_processes_that_come_at_once_make_one_schema(machine, tmp_path):
    from cli.conftest import BN

    shop = machine(new_repository(tmp_path / "shop"))
    started = [
        subprocess.Popen([BN, "task", "add", f"Task {n}"], cwd=shop.repo, env=shop.env, stdout=subprocess.DEVNULL)
        for n in range(4)
    ]
    assert [process.wait(timeout=60) for process in started] == [0] * 4
    assert len(titles(shop)) == 4


def test_a_copy_shares_the_project_of_its_history(machine, tmp_path):
    shop = machine(new_repository(tmp_path / "shop", commit="first"))
    shop.add("One")
    shutil.copytree(shop.repo, tmp_path / "copy")
    assert titles(machine(tmp_path / "copy")) == ["One"]


def test_a_user_who_may_only_use_the_schema_works_in_it(machine, tmp_path, database):
    shop = machine(new_repository(tmp_path / "shop", commit="first"))
    shop.add("One")
    guest = f"guest_{os.getpid()}"
    with psycopg.connect(database, autocommit=True) as db:
        db.execute(f"create role {guest} login")
        db.execute(f"grant usage on schema bn_shop to {guest}")
        db.execute(f"grant all on all tables in schema bn_shop to {guest}")
        db.execute(f"grant all on all sequences in schema bn_shop to {guest}")
    try:
        git("clone", str(shop.repo), "laptop", at=tmp_path)
        url = shop.env["BN_STORE_URL"]
        user = url.removeprefix("postgresql://").partition("@")[0]
        laptop = machine(tmp_path / "laptop", BN_STORE_URL=url.replace(f"//{user}@", f"//{guest}@", 1))
        laptop.add("Two")
        assert titles(laptop) == ["One", "Two"]
    finally:
        with psycopg.connect(database, autocommit=True) as db:
            db.execute(f"drop owned by {guest}")
            db.execute(f"drop role {guest}")
