"""Messages are found in a stream however it is cut, and nothing that a peer sends is kept without a bound."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binnacle.wire.framing import (
    ContentLengthDecoder,
    EventStreamDecoder,
    FrameTooLong,
    FramingError,
    LineDecoder,
    OversizedLine,
    ServerSentEvent,
    encode_content_length,
)

MAX_BYTES = 12
CUTS = st.lists(st.integers(min_value=0, max_value=400), max_size=12)
LINES = st.lists(st.binary(max_size=2 * MAX_BYTES).map(lambda line: line.replace(b"\n", b"")), max_size=8)
BODIES = st.lists(st.binary(max_size=MAX_BYTES), max_size=8)
FIELDS = st.sampled_from(
    ["data: a", "data:b", "data", "event: x", "id: 1", "id", "retry: 5", ": hello", "data: é日", ""]
)
EVENT_LINES = st.lists(st.tuples(FIELDS, st.sampled_from(["\n", "\r", "\r\n"])), max_size=30)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(min(place, len(data)) for place in places), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(edges)]


def decode_lines(*chunks: bytes) -> list[bytes | OversizedLine]:
    decoder = LineDecoder(MAX_BYTES)
    return [line for chunk in chunks for line in decoder.feed(chunk)]


def decode_bodies(*chunks: bytes) -> list[bytes | str]:
    """The bodies, and the error at the end if there is one."""
    decoder = ContentLengthDecoder(max_body_bytes=MAX_BYTES, max_head_bytes=40)
    found: list[bytes | str] = []
    try:
        for chunk in chunks:
            found.extend(decoder.feed(chunk))  # which keeps what came before an error
    except FramingError as error:
        found.append(str(error))
    return found


@given(LINES, st.binary(max_size=MAX_BYTES).map(lambda line: line.replace(b"\n", b"")), CUTS)
def test_lines_are_found_however_the_stream_is_cut(lines, unfinished, places):
    expected = [line if len(line) <= MAX_BYTES else OversizedLine(line[:MAX_BYTES]) for line in lines]
    stream = b"".join(line + b"\n" for line in lines) + unfinished
    assert decode_lines(*cut(stream, places)) == expected


def test_an_oversized_line_is_reported_once_and_early_and_the_next_line_is_read():
    decoder = LineDecoder(MAX_BYTES)
    assert decoder.feed(b"x" * MAX_BYTES) == []
    assert decoder.feed(b"yz") == [OversizedLine(b"x" * MAX_BYTES)]
    assert decoder.feed(b"z" * 100) == []
    assert decoder.feed(b"z\nnext\n") == [b"next"]


@given(BODIES, CUTS)
def test_bodies_are_found_however_the_stream_is_cut(bodies, places):
    stream = b"".join(map(encode_content_length, bodies))
    assert decode_bodies(*cut(stream, places)) == bodies


@given(st.binary(max_size=200) | st.just(encode_content_length(b"ok") + b"Content-Length: 1\r\nnonsense"), CUTS)
def test_any_bytes_give_the_same_bodies_and_the_same_error_however_they_are_cut(stream, places):
    assert decode_bodies(*cut(stream, places)) == decode_bodies(stream)


@pytest.mark.parametrize(
    ("stream", "error"),
    [
        (b"Content-Length: x\r\n\r\n{}", FramingError),
        (b"Content-Length: -1\r\n\r\n", FramingError),
        (b"Content-Type: json\r\n\r\n{}", FramingError),
        (b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n", FramingError),
        (b"Content-Length: 13\r\n\r\n", FrameTooLong),
        (b"warning: " + b"x" * 5000, FrameTooLong),
    ],
)
def test_a_message_before_a_broken_header_is_still_given(stream, error):
    decoder = ContentLengthDecoder(max_body_bytes=MAX_BYTES)
    bodies = decoder.feed(encode_content_length(b"first") + stream)
    assert next(bodies) == b"first"
    with pytest.raises(error):
        next(bodies)


def test_headers_besides_the_length_are_ignored():
    assert decode_bodies(b"Content-Type: x\r\ncontent-length : 2\r\n\r\n{}") == [b"{}"]


@given(EVENT_LINES, CUTS)
def test_events_are_found_however_the_stream_is_cut(lines, places):
    stream = "".join(field + ending for field, ending in lines).encode()
    in_one, in_pieces = EventStreamDecoder(1000), EventStreamDecoder(1000)
    expected = in_one.feed(stream)
    assert [event for chunk in cut(stream, places) for event in in_pieces.feed(chunk)] == expected
    assert (in_pieces.last_id, in_pieces.retry) == (in_one.last_id, in_one.retry)


def test_an_event_has_data_a_kind_and_leaves_its_id():
    decoder = EventStreamDecoder(1000)
    stream = b"\xef\xbb\xbfevent: endpoint\nid: 7\nretry: 1500\ndata: one\ndata: two\n\nid: 8\ndata: un"
    assert decoder.feed(stream) == [ServerSentEvent(b"one\ntwo", "endpoint")]
    assert (decoder.last_id, decoder.retry) == ("7", 1.5)
    decoder.restart()
    assert decoder.feed(b"data: z\n\n") == [ServerSentEvent(b"z")]
    assert decoder.last_id == "7"


@pytest.mark.parametrize("line", [b"id: a\0b", b"id: " + b"x" * 1025, b"retry: soon", b"retry: -1", b"unknown: x"])
def test_fields_that_cannot_be_used_are_ignored(line):
    decoder = EventStreamDecoder(5000)
    assert decoder.feed(line + b"\ndata: x\n\n") == [ServerSentEvent(b"x")]
    assert (decoder.last_id, decoder.retry) == ("", None)


@pytest.mark.parametrize("data", [b"data: " + b"x" * 99, b"x" * 200, b":" * 200, b"data: x\n" * 99])
def test_an_event_or_line_that_does_not_end_is_refused(data):
    with pytest.raises(FrameTooLong):
        EventStreamDecoder(100).feed(data)
