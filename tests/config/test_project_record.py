"""The lines that say which project is where come back as they were written, or not at all."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binnacle.config.project_record import ProjectRecord, create_record, read_record, write_record

PATHS = st.binary(min_size=1).filter(lambda path: b"\0" not in path).map(os.fsdecode)


@given(place=PATHS)
def test_every_path_comes_back(tmp_path, place):
    record = ProjectRecord("shop-1f3a", place, kept="path", inode="7", origin="example.com/x", root="abc", mark="m")
    write_record(str(tmp_path / "record"), record)
    assert read_record(str(tmp_path / "record")) == record


@given(content=st.binary())
def test_a_file_with_anything_in_it_is_no_error(tmp_path, content):
    (tmp_path / "record").write_bytes(content)
    found = read_record(str(tmp_path / "record"))
    assert found is None or found.id


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", ".hidden", "a b"])
def test_an_id_that_leads_out_of_the_data_directory_is_none(tmp_path, name):
    (tmp_path / "record").write_text(f"id {name}\nplace /x\n")
    assert read_record(str(tmp_path / "record")) is None


def test_the_first_to_create_a_record_wins(tmp_path):
    file = str(tmp_path / "new" / "record")
    assert create_record(file, ProjectRecord("a", "/a"))
    assert not create_record(file, ProjectRecord("b", "/b"))
    assert read_record(file) == ProjectRecord("a", "/a")
    assert os.listdir(tmp_path / "new") == ["record"]
