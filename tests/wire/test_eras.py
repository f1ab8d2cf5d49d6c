"""To which era a request belongs, and what its headers must say of it."""

import base64
import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binnacle.wire import mcp_headers
from binnacle.wire.jsonrpc import INVALID_PARAMS, RpcError
from binnacle.wire.mcp import (
    CAPABILITIES_KEY,
    HANDSHAKE_VERSIONS,
    HEADER_MISMATCH,
    UNSUPPORTED_VERSION,
    VERSION_KEY,
    CallParams,
    Params,
    decode_params,
    era_of,
    meta_of,
)

NEW = "2026-07-28"
META = {VERSION_KEY: NEW, CAPABILITIES_KEY: {}}


def params(meta: Any = None, **others: Any) -> bytes:
    return json.dumps(others | ({} if meta is None else {"_meta": meta})).encode()


@pytest.mark.parametrize("raw", [b"{}", b"[]", b"[1,2]", b"7", b'"text"', params({}), params({"progressToken": 1})])
def test_a_request_that_names_no_version_is_of_the_handshake_era(raw: bytes):
    assert era_of(meta_of(raw)) == "handshake"


def test_a_request_that_names_the_stateless_version_is_of_that_era():
    assert era_of(meta_of(params(META))) == "stateless"


@pytest.mark.parametrize("version", [*HANDSHAKE_VERSIONS, "", "2026-07-29", "1900-01-01"])
def test_any_other_version_in_a_request_is_refused_with_those_that_are_spoken(version: str):
    with pytest.raises(RpcError) as refused:
        era_of(meta_of(params({VERSION_KEY: version, CAPABILITIES_KEY: {}})))
    assert refused.value.code == UNSUPPORTED_VERSION
    assert refused.value.data == {"supported": [NEW], "requested": version}


@pytest.mark.parametrize(
    "meta",
    [
        {VERSION_KEY: NEW},
        {VERSION_KEY: NEW, CAPABILITIES_KEY: []},
        {VERSION_KEY: 7, CAPABILITIES_KEY: {}},
        {"progressToken": {}},
        {"progressToken": 1.5},
        7,
        [],
    ],
)
def test_metadata_that_does_not_fit_is_invalid(meta: Any):
    with pytest.raises(RpcError) as refused:
        era_of(meta_of(params(meta)))
    assert refused.value.code == INVALID_PARAMS


@given(st.binary(max_size=60) | st.just(b'{"name":"\xff"}') | st.just(b'{"name":' + b"[" * 5000))
def test_parameters_never_raise_anything_but_a_protocol_error(raw: bytes):
    for kind in (Params, CallParams):
        with contextlib.suppress(RpcError):
            assert isinstance(decode_params(raw, kind), kind)


def sent(**changes: str | None) -> dict[str, str]:
    """The headers of a call of `echo`, with changes; None takes one away."""
    all_of_them = {"mcp-protocol-version": NEW, "mcp-method": "tools/call", "mcp-name": "echo"}
    named = {name.replace("_", "-"): value for name, value in changes.items()}
    return {name: value for name, value in (all_of_them | named).items() if value is not None}


def check(given_headers: dict[str, str], raw: bytes = params(META, name="echo")) -> int:
    """The code with which a request is refused, 0 if it is not."""
    try:
        mcp_headers.check(given_headers, "tools/call", raw, meta_of(raw))
    except RpcError as error:
        return error.code
    return 0


def test_headers_that_say_what_the_body_says_pass():
    assert check(sent()) == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"mcp_protocol_version": None},
        {"mcp_protocol_version": "2025-11-25"},
        {"mcp_method": None},
        {"mcp_method": "tools/list"},
        {"mcp_method": "Tools/Call"},
        {"mcp_name": None},
        {"mcp_name": "other"},
        {"mcp_name": "ECHO"},
        {"mcp_name": "=?base64?!!!!?="},
        {"mcp_name": "=?base64?/w==?="},
        {"mcp_name": "=?base64?ZWNobw?="},
        {"mcp_name": "=?base64?ZWNobx==?="},
    ],
    ids=str,
)
def test_a_header_that_is_missing_or_differs_is_a_mismatch(changes: dict[str, str | None]):
    assert check(sent(**changes)) == HEADER_MISMATCH


def test_a_version_that_is_not_spoken_is_named_even_where_header_and_body_agree():
    raw = params({VERSION_KEY: "2099-01-01", CAPABILITIES_KEY: {}}, name="echo")
    assert check(sent(mcp_protocol_version="2099-01-01"), raw) == UNSUPPORTED_VERSION
    assert check(sent(mcp_protocol_version="2099-01-01"), params(name="echo")) == UNSUPPORTED_VERSION


def test_a_body_that_lacks_what_the_era_wants_is_invalid():
    assert check(sent(), params(name="echo")) == INVALID_PARAMS
    assert check(sent(), params({VERSION_KEY: NEW}, name="echo")) == INVALID_PARAMS


def test_a_name_that_is_no_text_matches_no_header():
    assert check(sent(mcp_name="7"), params(META, name=7)) == HEADER_MISMATCH


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_name_in_base64_is_compared_decoded(name: str):
    wrapped = f"=?base64?{base64.b64encode(name.encode()).decode()}?="
    assert check(sent(mcp_name=wrapped), params(META, name=name)) == 0
