"""Answers besides results of tools that are too large are in files, and say where."""

import base64
import os
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from binnacle.upstream.answers.oversized_content import MAX_SEPARATE_FILES, cut_content

ROOM = 1500
"""Bytes that a notice may take, however small the limit."""

METHODS = {"resources/read": "contents", "prompts/get": "messages", "completion/complete": "completion"}


def cut(method: str, result: dict, limit: int, folder: object) -> dict:
    received = msgspec.json.decode(msgspec.json.encode(result), type=dict[str, Raw])
    found, size = cut_content(received, limit, str(folder), name="one:it", method=method)
    assert size == pytest.approx(len(msgspec.json.encode(result)), abs=10)
    return msgspec.json.decode(msgspec.json.encode(found))


def files_of(text: str) -> list[Path]:
    return [Path(path) for path in re.findall(r"in the file (\S+)\.", text)]


def test_what_fits_of_several_contents_stays_as_it_was(tmp_path):
    small = {"uri": "x:1", "text": "here", "x-own": 1.5}
    blob = {"uri": "x:2", "mimeType": "application/pdf", "blob": base64.b64encode(b"%PDF" * 2000).decode()}
    shown = cut("resources/read", {"contents": [small, blob, small], "_meta": {"a": 1}}, 5000, tmp_path)
    assert shown["contents"][0] == shown["contents"][2] == small
    assert shown["_meta"] == {"a": 1}
    assert shown["contents"][1]["uri"] == "x:2"
    (saved,) = files_of(shown["contents"][1]["text"])
    assert (saved.suffix, saved.read_bytes()) == (".pdf", b"%PDF" * 2000)


def test_many_large_contents_do_not_make_as_many_files(tmp_path):
    contents = [{"uri": f"x:{number}", "text": "y" * 2000} for number in range(100)]
    shown = cut("resources/read", {"contents": contents}, 5000, tmp_path)
    assert len(os.listdir(tmp_path)) == MAX_SEPARATE_FILES + 1
    last = shown["contents"][-1]["text"]
    (whole,) = files_of(last)
    assert "more contents are left out here" in last
    assert msgspec.json.decode(whole.read_bytes())["contents"] == contents


def test_what_is_no_content_is_saved_too(tmp_path):
    for odd in (
        {"uri": 7, "text": "z" * 5000},
        {"uri": "x", "blob": "no base64 " * 500},
        "z" * 5000,
        {"a": "z" * 5000},
    ):
        (content,) = cut("resources/read", {"contents": [odd]}, 1000, tmp_path)["contents"]
        (saved,) = files_of(content["text"])
        assert msgspec.json.decode(saved.read_bytes()) == odd


def test_an_image_in_a_prompt_is_left_out_and_that_is_said(tmp_path):
    image = {"type": "image", "mimeType": "image/png", "data": "A" * 8000}
    messages = [{"role": "user", "content": image}, {"role": "assistant", "content": {"type": "text", "text": "hm"}}]
    shown = cut("prompts/get", {"messages": messages, "description": "d"}, 5000, tmp_path)
    notice, rest = shown["messages"]
    assert rest == messages[1]
    assert "1 of its messages are left out here." in notice["content"]["text"]
    assert shown["description"] == "d"


TEXTS = st.text(max_size=400)
CONTENTS = st.lists(
    st.builds(lambda text: {"uri": "u:1", "text": text}, TEXTS)
    | st.builds(lambda data: {"uri": "u:2", "blob": base64.b64encode(data).decode()}, st.binary(max_size=600)),
    max_size=6,
)
MESSAGES = st.lists(
    st.builds(lambda text: {"role": "user", "content": {"type": "text", "text": text}}, TEXTS), max_size=6
)
ANSWERS = (
    st.tuples(st.just("resources/read"), CONTENTS)
    | st.tuples(st.just("prompts/get"), MESSAGES)
    | st.tuples(st.just("completion/complete"), st.fixed_dictionaries({"values": st.lists(TEXTS, max_size=9)}))
    | st.tuples(st.sampled_from(list(METHODS)), st.recursive(st.none() | TEXTS, st.lists, max_leaves=5))
)


@given(ANSWERS, st.integers(1, 6000))
def test_whatever_comes_is_within_the_limit_but_for_its_notices(tmp_path_factory, answer, limit):
    method, value = answer
    folder = tmp_path_factory.getbasetemp() / "excerpts"
    shown = cut(method, {METHODS[method]: value}, limit, folder)
    notices = len(value) if method == "resources/read" and value else 1
    assert len(msgspec.json.encode(shown)) <= max(limit, ROOM) + ROOM * notices
