"""What providers say when they have had enough, as agents pass it on."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from binnacle.runner.agents.rate_limits import MAX_WAIT_SECONDS, RateLimit, limit_in_error, limit_in_log, limit_in_words

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("message", "data", "after"),
    [
        ("429 Too Many Requests", None, None),
        ("Internal error", {"details": "rate_limit_error: This request would exceed your limit"}, None),
        ("Overloaded", None, None),
        ("Internal error", {"error": {"type": "overloaded_error", "message": "Overloaded"}}, None),
        ("Rate limit reached for gpt-5 in organization x. Please try again in 20s.", None, 20),
        ("Rate limit reached: try again in 6m0s", None, 360),
        ("Rate limit exceeded. Please try again in 1 hour and 5 minutes", None, 3900),
        ("rate limited, retrying in 850ms", None, 0.85),
        ("Resource exhausted", {"headers": {"retry-after": "30"}}, 30),
        ("too many requests", {"retry_after": 12.5}, 12.5),
        ("too many requests", {"retryAfterMs": 2500}, 2.5),
        ("429", {"headers": {"Retry-After": "Sun, 15 Nov 2026 12:01:00 GMT"}}, 60),
        ('API error 429: {"retryDelay": "34s"}', None, 34),
        ("RESOURCE_EXHAUSTED: You exceeded your current quota", None, None),
        ("Claude usage limit reached|1794744600", None, 600),
        ("usage limit reached: resets at 1794744600", None, 600),
        ("You've hit your usage limit. It resets at 2026-11-15T13:00:00Z", None, 3600),
        ("The model is at capacity", None, None),
        ("529 overloaded", None, None),
        ("API Error: 503 Service Unavailable", None, None),
        ("Internal error", {"details": "HTTP 502: bad gateway"}, None),
        ("request failed", {"cause": {"code": "ECONNREFUSED"}}, None),
        ("connection refused, try again in 5 seconds", None, 5),
        ("TypeError: fetch failed", None, None),
        ("error sending request for url (https://api.example/v1)", None, None),
    ],
)
def test_a_limit_is_seen_in_an_error_with_how_long_it_lasts(message, data, after):
    found = limit_in_error(message, data, now=NOW)
    assert found is not None
    assert found.after == (pytest.approx(after) if after is not None else None)


@pytest.mark.parametrize(
    ("message", "data"),
    [
        ("Internal error", None),
        ("Invalid params", {"path": "/v1/4290"}),
        ("Authentication required", None),
        ("the rate limiter of the project failed its tests", None),
        ("context length exceeded", None),
    ],
)
def test_other_errors_are_none(message, data):
    assert limit_in_error(message, data, now=NOW) is None


def test_a_wait_beyond_belief_is_not_believed():
    assert limit_in_error("429, retry after 900000 seconds", now=NOW) == RateLimit(after=None)


@pytest.mark.parametrize(
    "text",
    [
        "API Error: 429 rate limited",
        "API Error: 503 upstream connect error",
        "Connection error.",
        "503 Service Unavailable",
        "Error: 529 overloaded",
        "You've hit your usage limit, try again in 3 hours",
        "Claude usage limit reached",
        "Rate limit exceeded",
    ],
)
def test_an_answer_that_is_nothing_but_that_counts(text):
    assert limit_in_words(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "I added a rate limit of 429 requests to the server and its tests pass.",
        "The client now waits when the server answers 429.",
        "500 tests pass.",
        "Error 404 pages are done.",
        "Connection errors are handled in the client now.",
        "Error handling is done." + " It is long." * 100 + " Rate limit exceeded",
        "",
    ],
)
def test_an_answer_that_speaks_of_limits_does_not(text):
    assert limit_in_words(text) is None


def test_of_a_log_only_the_end_counts():
    early = "429 Too Many Requests, retrying\n" + "fine\n" * 50 + "Segmentation fault"
    assert limit_in_log(early) is None
    assert limit_in_log("fine\n" * 50 + "Error: 429 Too Many Requests; retry after 5s") == RateLimit(after=5)


@given(
    st.text(max_size=400),
    st.recursive(
        st.none() | st.text() | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=10,
    ),
)
def test_any_text_is_taken(message, data):
    for found in (limit_in_error("429 " + message, data), limit_in_words(message), limit_in_log(message)):
        assert found is None or found.after is None or 0 < found.after <= MAX_WAIT_SECONDS
