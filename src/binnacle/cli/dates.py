"""Dates and times as people write them."""

from datetime import UTC, datetime, timedelta

from binnacle.errors import InvalidInput

_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_moment(text: str, *, now: datetime | None = None) -> datetime:
    """A date, a time, or how long ago: `2026-11-15`, `2026-11-15T10:00`, `90m`. Without a zone it is local time."""
    amount, unit = text[:-1], text[-1:]
    if amount.isdecimal() and unit in _UNITS and len(amount) < 6:
        return (now or datetime.now(UTC)) - timedelta(**{_UNITS[unit]: int(amount)})
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        raise InvalidInput(f"not a moment: {text!r}", hint="2026-11-15, 2026-11-15T10:00, 90m, 12h or 7d") from None


def parse_end(text: str) -> datetime:
    """When something ends: a time, or the last day of it. Without a zone it is local time."""
    try:
        found = datetime.fromisoformat(text).astimezone(UTC)
        is_day = len(text) <= len("2026-11-15")
        return found + timedelta(days=1) if is_day else found
    except (ValueError, OverflowError):
        raise InvalidInput(f"not a date: {text!r}", hint="2026-12-01, or 2026-12-01T10:00") from None
