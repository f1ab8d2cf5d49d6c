"""Whatever bytes arrive, `parse` answers with a value; what it says about them is what JSON-RPC wants said."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binnacle.wire import jsonrpc
from binnacle.wire.jsonrpc import MAX_BATCH_BYTES, MAX_BATCH_MESSAGES, Invalid, Notification, Request, Response, parse

KINDS = (Request, Notification, Response, Invalid)


def request(raw_id: bytes = b"1", method: bytes = b'"ping"', params: bytes = b"{}") -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}' % (raw_id, method, params)


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)
keys = st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "_meta"]) | st.text(max_size=5)
envelopes = st.dictionaries(keys, st.just("2.0") | values, max_size=8)


@given(st.binary())
def test_any_bytes_are_one_message_or_several(data: bytes):
    found = parse(data)
    assert all(isinstance(one, KINDS) for one in (found if isinstance(found, list) else [found]))


@given(envelopes | st.lists(envelopes, max_size=4))
def test_any_json_is_one_message_or_several(value: Any):
    found = parse(json.dumps(value).encode())
    assert all(isinstance(one, KINDS) for one in (found if isinstance(found, list) else [found]))


@given(st.binary(max_size=8), st.integers(min_value=0, max_value=80), st.integers(min_value=0, max_value=8))
def test_a_damaged_request_never_raises(noise: bytes, at: int, cut: int):
    whole = request(b'"an id"', params=b'{"name":"echo","arguments":{"text":"\\ud83d\\ude00 \xc3\xa9"}}')
    found = parse(whole[:at] + noise + whole[at + cut :])
    assert isinstance(found, KINDS)


ids = (
    st.integers().map(lambda value: str(value).encode())
    | st.floats(allow_nan=False, allow_infinity=False).map(lambda value: repr(value).encode())
    | st.text().map(lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    | st.text(st.characters(exclude_categories=["Cs"])).map(lambda value: json.dumps(value).encode())
    | st.sampled_from([b"-0", b"1e999", b"1E+2", b"1.50", b"0", b'""', b'"\\u0061"', b'"\\/"', b"9" * 400])
)


@given(ids)
def test_ids_go_back_as_they_came(raw_id: bytes):
    found = parse(request(raw_id))
    assert found == Request(raw_id, "ping", b"{}")
    answer = jsonrpc.result_message(raw_id, b"{}")
    assert answer == b'{"jsonrpc":"2.0","id":' + raw_id + b',"result":{}}'
    json.loads(answer)


@given(ids, st.sampled_from([b" ", b"\t", b"\r\n", b"\n \n"]))
def test_white_space_around_an_id_is_not_part_of_it(raw_id: bytes, space: bytes):
    assert parse(b'{"jsonrpc":"2.0","id":%b%b%b,"method":"ping"}' % (space, raw_id, space)) == Request(
        raw_id, "ping", b"{}"
    )


@pytest.mark.parametrize("raw_id", [b"null", b"true", b"false", b"{}", b"[1]", b'{"a":1}'])
def test_an_id_of_another_kind_is_refused(raw_id: bytes):
    found = parse(request(raw_id))
    assert isinstance(found, Invalid)
    assert (found.id, found.code) == (b"null", jsonrpc.INVALID_REQUEST)


@pytest.mark.parametrize(
    "raw_id",
    [b"01", b"-", b"+1", b"1.", b".5", b"1e", b"0x1", b"NaN", b"-Infinity", b"'a'", b'"\x01"', b'"\\q"', b'"a'],
)
def test_an_id_that_is_no_json_makes_the_message_unreadable(raw_id: bytes):
    found = parse(request(raw_id))
    assert isinstance(found, Invalid)
    assert (found.id, found.code) == (b"null", jsonrpc.PARSE_ERROR)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" ",
        b"{",
        b"nonsense",
        b'{"jsonrpc":"2.0","id":1,"method":"ping"',
        b'{"jsonrpc":"2.0","id":1,"method":"ping"}{}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"\x00"}}',
        b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":"\xff","method":"ping"}',
        b'{"jsonrpc":"2.0","id":1,"method":"\xc3"}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"text":"\xed\xa0\x80"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"\xfe":1}}',
        b'[{"jsonrpc":"2.0","id":1,"method":"ping"},{"id":"\xff"}]',
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000,
        request(params=b"[" * 100_000 + b"]" * 100_000),
    ],
    ids=lambda data: repr(data[:40]),
)
def test_what_is_no_json_or_no_utf8_is_a_parse_error(data: bytes):
    found = parse(data)
    assert isinstance(found, Invalid)
    assert (found.id, found.code) == (b"null", jsonrpc.PARSE_ERROR)


@pytest.mark.parametrize(
    ("data", "raw_id"),
    [
        (b"1", b"null"),
        (b"null", b"null"),
        (b'"ping"', b"null"),
        (b"{}", b"null"),
        (b'{"jsonrpc":"2.0"}', b"null"),
        (b'{"jsonrpc":"2.0","id":7}', b"7"),
        (b'{"jsonrpc":"2.0","result":{}}', b"null"),
        (b'{"id":7,"method":"ping"}', b"7"),
        (b'{"jsonrpc":"1.0","id":"seven","method":"ping"}', b'"seven"'),
        (b'{"jsonrpc":2.0,"id":7,"method":"ping"}', b"7"),
        (b'{"jsonrpc":null,"id":{},"method":"ping"}', b"null"),
        (b'{"jsonrpc":"2.0","id":7,"method":7}', b"7"),
        (b'{"jsonrpc":"2.0","id":7,"method":null}', b"7"),
        (b'{"jsonrpc":"2.0","id":7.5,"method":["ping"]}', b"7.5"),
    ],
)
def test_json_that_is_no_message_is_an_invalid_request_under_its_own_id(data: bytes, raw_id: bytes):
    found = parse(data)
    assert isinstance(found, Invalid)
    assert (found.id, found.code) == (raw_id, jsonrpc.INVALID_REQUEST)


def test_parameters_stay_as_they_were_written():
    params = b'{"a":1e999,"b":12345678901234567890123,"c":"\\u00e9", "a":2}'
    assert parse(request(params=params)) == Request(b"1", "ping", params)


def test_parameters_that_are_absent_or_null_are_none():
    assert parse(b'{"jsonrpc":"2.0","id":1,"method":"ping"}') == Request(b"1", "ping", b"{}")
    assert parse(request(params=b"null")) == Request(b"1", "ping", b"{}")
    assert parse(b'{"jsonrpc":"2.0","method":"ping","params":null}') == Notification("ping", b"{}")


def test_nesting_that_is_deep_but_bearable_is_read():
    params = b'{"a":' + b"[" * 120 + b"]" * 120 + b"}"
    assert parse(request(params=params)) == Request(b"1", "ping", params)


@pytest.mark.parametrize(
    ("half", "whole"),
    [
        (rb"cut \ud83d", rb"cut \ufffd"),
        (rb"\ude00 cut", rb"\ufffd cut"),
        (rb"\ud83d\ud83d\ude00", rb"\ufffd\ud83d\ude00"),
        (rb"\uD83Dx\uDE00", rb"\ufffdx\ufffd"),
        (rb"\\\\ud83d \ud83d", rb"\\\\ud83d \ufffd"),
    ],
)
def test_half_a_surrogate_pair_is_replaced_and_the_rest_is_kept(half: bytes, whole: bytes):
    found = parse(request(params=b'{"text":"%b"}' % half))
    assert found == Request(b"1", "ping", b'{"text":"%b"}' % whole)


def test_an_answer_is_told_from_a_request():
    assert parse(b'{"jsonrpc":"2.0","id":"bn-1","result":{"a":1}}') == Response(b'"bn-1"', b'{"a":1}', None)
    assert parse(b'{"jsonrpc":"2.0","id":1,"error":{"code":1}}') == Response(b"1", None, b'{"code":1}')


def test_an_error_without_an_id_is_an_answer_and_so_never_answered():
    assert parse(b'{"jsonrpc":"2.0","error":{"code":1}}') == Response(b"null", None, b'{"code":1}')
    assert parse(b'{"jsonrpc":"2.0","id":null,"error":{"code":1}}') == Response(b"null", None, b'{"code":1}')


def test_a_batch_keeps_its_order_and_what_is_wrong_in_it():
    found = parse(b' [%b, 1, {"jsonrpc":"2.0","method":"n"}, [%b], {"id":3}]' % (request(b'"a"'), request()))
    assert isinstance(found, list)
    assert found[0] == Request(b'"a"', "ping", b"{}")
    assert found[2] == Notification("n", b"{}")
    assert [one.id for one in found if isinstance(one, Invalid)] == [b"null", b"null", b"3"]


def test_batches_within_batches_are_each_one_invalid_message():
    found = parse(b"[" * 500 + b"]" * 500)
    assert isinstance(found, list)
    assert [type(one) for one in found] == [Invalid]


@pytest.mark.parametrize(
    "data",
    [
        b"[]",
        b"[" + b",".join([b"1"] * (MAX_BATCH_MESSAGES + 1)) + b"]",
        b"[" + b"1," * (MAX_BATCH_BYTES // 2) + b"1]",
        b"[" + request(params=b'{"text":"%b"}' % (b"x" * MAX_BATCH_BYTES)) + b"]",
    ],
    ids=["empty", "too many", "far too many", "too long"],
)
def test_a_batch_of_none_or_of_too_many_is_one_invalid_request(data: bytes):
    found = parse(data)
    assert isinstance(found, Invalid)
    assert (found.id, found.code) == (b"null", jsonrpc.INVALID_REQUEST)


def test_the_longest_batch_is_read():
    found = parse(b"[" + b",".join([request()] * MAX_BATCH_MESSAGES) + b"]")
    assert found == [Request(b"1", "ping", b"{}")] * MAX_BATCH_MESSAGES
