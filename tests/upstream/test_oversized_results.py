"""A result that is too large is in a file, and the answer says where."""

import base64
import os
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from binnacle.upstream.answers.oversized_results import SAVED_PREFIX, SHOWN_BYTES, cut_result

ROOM = 1500
"""Bytes that a notice may take, however small the limit."""


def received(result: dict) -> dict[str, Raw]:
    """A result as it comes from a server."""
    return msgspec.json.decode(msgspec.json.encode(result), type=dict[str, Raw])


def text(value: str, **fields) -> dict:
    return {"type": "text", "text": value, **fields}


def image(count: int) -> dict:
    return {"type": "image", "data": base64.b64encode(os.urandom(count)).decode(), "mimeType": "image/png"}


def cut(result: dict, limit: int, folder, **options) -> tuple[dict, str]:
    """What becomes of a result that is too large: as the client reads it, and what is in the file it names."""
    found, size = cut_result(received(result), limit, str(folder), **options)
    encoded = msgspec.json.encode(found)
    assert len(encoded) <= max(limit, ROOM)
    assert size == pytest.approx(len(msgspec.json.encode(result)), abs=10)
    shown = msgspec.json.decode(encoded)
    (path,) = re.findall(r"in the file (\S+)\. ", shown["content"][0]["text"])
    assert os.path.isabs(path)
    with open(path, encoding="utf-8") as file:
        return shown, file.read()


def test_what_fits_is_passed_on_untouched(tmp_path):
    result = received({"content": [text("x" * 100)], "unknown": {"a": 1.50}})
    found, size = cut_result(result, 1000, str(tmp_path))
    assert found is result
    assert size == pytest.approx(len(msgspec.json.encode(result)), abs=10)
    assert os.listdir(tmp_path) == []
    assert cut_result(received({"content": [text("x" * 10_000)]}), 0, str(tmp_path))[1] > 10_000


def test_long_text_is_saved_as_text_and_its_beginning_shown(tmp_path):
    whole = "".join(f"line {number}\n" for number in range(50_000))
    assert len(whole) == 538_890  # and as JSON one more for each line
    shown, saved = cut({"content": [text(whole)], "isError": False}, 100_000, tmp_path, name="files:read_file")
    assert saved == whole
    notice, beginning = shown["content"]
    assert notice["text"].startswith("[cut: the result is 588.9 kB, the limit 100.0 kB. All of it is in the file ")
    assert "files-read_file.txt" in notice["text"]
    assert whole.startswith(beginning["text"])
    assert SHOWN_BYTES * 0.8 < len(beginning["text"]) <= SHOWN_BYTES
    assert shown["isError"] is False


def test_only_the_owner_can_read_what_was_saved(tmp_path):
    cut({"content": [text("x" * 5000)]}, 2000, tmp_path / "results")
    (name,) = os.listdir(tmp_path / "results")
    assert os.stat(tmp_path / "results").st_mode & 0o777 == 0o700
    assert os.stat(tmp_path / "results" / name).st_mode & 0o777 == 0o600


def test_whatever_is_more_than_text_is_saved_as_it_came(tmp_path):
    result = {
        "content": [text("x" * 5000, annotations={"audience": ["user"]}), image(30)],
        "structuredContent": {"all": "y" * 5000},
        "isError": True,
        "_meta": {"k": 1},
    }
    shown, saved = cut(result, 2000, tmp_path)
    assert msgspec.json.decode(saved) == result
    assert (shown["isError"], shown["_meta"]) == (True, {"k": 1})
    assert shown["content"][2] == result["content"][1]
    assert "structuredContent" not in shown
    assert "structured content of 5.0 kB" in shown["content"][0]["text"]


def test_structure_stays_when_the_text_alone_was_too_much(tmp_path):
    result = {"content": [text("x" * 90_000)], "structuredContent": {"all": "y" * 40_000}}
    shown, _ = cut(result, 100_000, tmp_path)
    assert shown["structuredContent"] == result["structuredContent"]


def test_binary_content_is_whole_or_left_out(tmp_path):
    small, large = image(1000), image(50_000)
    result = {"content": [text("a"), large, small, text("b" * 100)]}
    shown, saved = cut(result, 20_000, tmp_path)
    assert shown["content"][1:] == [text("a"), small, text("b" * 100)]
    assert "image/png of 66.7 kB" in shown["content"][0]["text"]
    assert msgspec.json.decode(saved) == result


def test_the_text_of_a_resource_can_be_read_too(tmp_path):
    resource = {"uri": "file:///a", "text": "x" * 50_000}
    shown, _ = cut({"content": [{"type": "resource", "resource": resource}]}, 10_000, tmp_path)
    assert shown["content"][1]["text"].startswith("file:///a:\nxxx")


def test_a_question_is_never_cut(tmp_path):
    result = {"inputRequests": {"q": {"method": "x" * 5000}}, "requestState": "s"}
    assert cut_result(result, 100, str(tmp_path))[0] is result


def test_only_so_many_files_are_kept_and_nothing_else_is_touched(tmp_path):
    (tmp_path / "mine.txt").write_text("x")
    for number in range(6):
        cut({"content": [text(str(number) * 3000)]}, 1000, tmp_path, files=3)
    kept = sorted(name for name in os.listdir(tmp_path) if name.startswith(SAVED_PREFIX))
    assert [(tmp_path / name).read_text()[0] for name in kept] == ["3", "4", "5"]
    assert (tmp_path / "mine.txt").exists()


def test_only_so_many_bytes_are_kept_but_always_the_newest(tmp_path):
    for _ in range(4):
        cut({"content": [text("x" * 3000)]}, 1000, tmp_path, total=7000)
    assert len(os.listdir(tmp_path)) == 2
    cut({"content": [text("x" * 9000)]}, 1000, tmp_path, total=7000)
    assert len(os.listdir(tmp_path)) == 1


def test_what_cannot_be_saved_is_cut_all_the_same(tmp_path):
    (tmp_path / "file").write_text("")
    found, _ = cut_result(received({"content": [text("x" * 5000)]}), 2000, str(tmp_path / "file"))
    notice, beginning = msgspec.json.decode(found["content"])
    assert "It could not be saved: " in notice["text"]
    assert beginning["text"].startswith("xxx")


@pytest.mark.parametrize("content", [b"5", b'"' + b"x" * 3000 + b'"', b'{"a":"' + b"x" * 3000 + b'"}', b"[1,[],{}]"])
def test_a_result_of_the_wrong_form_is_cut_too(tmp_path, content):
    found, _ = cut_result({"content": Raw(content), "more": Raw(b'"' + b"y" * 3000 + b'"')}, 1000, str(tmp_path))
    shown = msgspec.json.decode(msgspec.json.encode(found))
    assert shown["content"][0]["text"].startswith("[cut: ")
    assert "more" not in shown


BLOCKS = st.lists(
    st.builds(text, st.text(max_size=300))
    | st.builds(image, st.integers(0, 600))
    | st.builds(lambda value: {"type": "resource", "resource": {"uri": "u", "text": value}}, st.text(max_size=300)),
    max_size=6,
)


@given(BLOCKS, st.none() | st.dictionaries(st.text(max_size=5), st.text(max_size=500)), st.integers(1, 6000))
def test_whatever_comes_is_within_the_limit_and_nothing_binary_is_cut(tmp_path_factory, blocks, structure, limit):
    result = {"content": blocks, **({} if structure is None else {"structuredContent": structure})}
    given_ = received(result)
    found, size = cut_result(given_, limit, str(tmp_path_factory.getbasetemp() / "spill"), files=5)
    shown = msgspec.json.decode(msgspec.json.encode(found))
    assert (found is given_) == (size <= limit)
    assert len(msgspec.json.encode(found)) <= max(limit, ROOM)
    assert all(one in blocks for one in shown["content"] if one["type"] != "text")
    assert shown.get("structuredContent", structure) == structure
