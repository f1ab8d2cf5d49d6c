"""A request arrives as it was made."""

import socket

from hypothesis import given
from hypothesis import strategies as st

from binnacle.passthrough.call_request import encode_request, make_request, receive_request

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
NAME = st.text(st.characters(exclude_characters="\0=", exclude_categories=["Cs"]), min_size=1, max_size=9)


@given(st.lists(TEXT, max_size=5), TEXT, st.dictionaries(NAME, TEXT, max_size=5))
def test_a_request_arrives_as_it_was_made(args, cwd, env):
    request = make_request(args, cwd=cwd, env=env)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(encode_request(request))
        arrived = receive_request(theirs)
    assert arrived == request
    assert arrived.env == {**env, "BN_KEPT": f"{request.run_id}-1"}


def test_half_a_request_is_none():
    ours, theirs = socket.socketpair()
    with theirs:
        with ours:
            ours.sendall(encode_request(make_request(["x"], cwd="/", env={}))[:-1])
        assert receive_request(theirs) is None
