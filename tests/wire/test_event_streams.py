"""Server-sent events, however they are written and cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binnacle.wire.framing import EventStreamDecoder, FrameTooLong, ServerSentEvent

LIMIT = 1000
FIELDS = st.sampled_from(
    ["data: a", "data:b", "data", "event: x", "id: 1", "id", "retry: 5", ": hello", "data: é日", ""]
)
STREAMS = st.lists(st.tuples(FIELDS, st.sampled_from(["\n", "\r", "\r\n"])), max_size=30)


def read(*chunks: bytes) -> tuple[list[ServerSentEvent], EventStreamDecoder]:
    events = EventStreamDecoder(LIMIT)
    return [event for chunk in chunks for event in events.feed(chunk)], events


def test_an_event_has_data_a_kind_and_leaves_its_id():
    found, events = read(b"event: endpoint\nid: 7\nretry: 1500\ndata: one\ndata: two\n\n")
    assert found == [ServerSentEvent(b"one\ntwo", "endpoint")]
    assert (events.last_id, events.retry) == ("7", 1.5)


def test_an_event_without_data_is_none_but_leaves_its_id():
    found, events = read(b"id: 7\ndata:\n\n")
    assert found == []
    assert events.last_id == "7"


def test_an_id_counts_when_its_event_is_finished():
    _, events = read(b"id: 7\ndata: x\n\nid: 8\ndata: y\n")
    assert events.last_id == "7"
    events.restart()
    assert events.feed(b"data: z\n\n") == [ServerSentEvent(b"z")]
    assert events.last_id == "7"


@pytest.mark.parametrize("line", [b"id: a\0b", b"id: " + b"x" * 900, b"retry: soon", b"retry: -1", b"unknown: x"])
def test_what_cannot_be_used_is_passed_over(line):
    found, events = read(line[:LIMIT] + b"\ndata: x\n\n")
    assert found == [ServerSentEvent(b"x")]
    assert events.retry is None
    assert len(events.last_id) <= 900
    assert "\0" not in events.last_id


@pytest.mark.parametrize("data", [b"data: " + b"x" * LIMIT, b"x" * 2 * LIMIT, b":" * 2 * LIMIT, b"data: x\n" * LIMIT])
@pytest.mark.parametrize("size", [1, 100, 10_000])
def test_what_has_no_end_is_not_kept(data, size):
    with pytest.raises(FrameTooLong):
        read(*(data[at : at + size] for at in range(0, len(data), size)))


@given(STREAMS, st.integers(1, 7))
def test_chunks_make_no_difference(lines, size):
    # A return before a line feed is one end of a line, so two empty lines written so are one.
    data = "".join(field + end for field, end in lines).encode()
    whole, first = read(data)
    cut, second = read(*(data[at : at + size] for at in range(0, len(data), size)))
    assert cut == whole
    assert (first.last_id, first.retry) == (second.last_id, second.retry)


@given(st.lists(st.tuples(FIELDS, st.sampled_from(["\r", "\r\n"])), max_size=30))
def test_ends_of_lines_make_no_difference(lines):
    mixed, _ = read("".join(field + end for field, end in lines).encode())
    plain, _ = read("".join(field + "\n" for field, _ in lines).encode())
    assert mixed == plain


@given(st.lists(st.binary(max_size=50)))
def test_any_bytes_can_be_read(chunks):
    events = EventStreamDecoder(LIMIT)
    for chunk in chunks:
        try:
            found = list(events.feed(chunk))
        except FrameTooLong:
            return
        assert all(len(event.data) <= LIMIT for event in found)
