"""What goes out is one line of JSON, whatever it is made of."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from binnacle.wire import jsonrpc

texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | st.integers(min_value=-(2**63), max_value=2**64 - 1) | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
    max_leaves=10,
)


def is_one_line(message: bytes) -> bool:
    return b"\n" not in message and b"\r" not in message


@given(values, st.sampled_from([None, 0, 1, 2]), st.sampled_from(["\n", "\r\n", "\r"]))
def test_a_result_written_over_several_lines_goes_out_on_one(value: Any, indent: int | None, newline: str):
    written = json.dumps(value, indent=indent).replace("\n", newline).encode()
    message = jsonrpc.result_message(b"1", written)
    assert is_one_line(message)
    assert json.loads(message) == {"jsonrpc": "2.0", "id": 1, "result": value}


@given(texts, values)
def test_errors_and_notifications_hold_any_text(text: str, value: Any):
    error = jsonrpc.error_message(b'"a"', -1, text, value)
    assert is_one_line(error)
    expected = {"code": -1, "message": text} | ({} if value is None else {"data": value})
    assert json.loads(error) == {"jsonrpc": "2.0", "id": "a", "error": expected}
    note = jsonrpc.notification_message(text, value)
    assert is_one_line(note)
    assert json.loads(note) == {"jsonrpc": "2.0", "method": text, "params": value}


def test_a_request_of_ours_is_read_by_our_own_parser():
    message = jsonrpc.request_message("bn-1", "roots/list", {"a": 1})
    assert jsonrpc.parse(message) == jsonrpc.Request(b'"bn-1"', "roots/list", b'{"a":1}')
