"""Scripts that read the recordings of debug sessions, also long after them."""

import os
import re
from collections import Counter
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
from msgspec import Struct

from binnacle.bridge.debug import debug_errors, session_recorder
from binnacle.bridge.debug.cancellable_wait import ScriptCall
from binnacle.bridge.debug.debugger import Debugger
from binnacle.bridge.debug.recorded_session import Category, RecordedLine, RecordedSession

MILESTONE_EVENTS = ("session", "process", "stop", "exited", "terminated", "end", "unjoined")
"""What a reader looks for first."""

RECORD_FIRST_HINT = "debug_start records a session; dap_summary shows the last one"


class SummaryParams(Struct, kw_only=True, rename="camel"):
    session_id: str | None = None
    compact: bool = False


class LogsParams(Struct, kw_only=True, rename="camel"):
    session_id: str | None = None
    count: int = 20
    category: Category = "all"
    search: str | None = None
    since: str | None = None
    reverse: bool = False
    show_source: bool = True


class SearchParams(Struct, kw_only=True, rename="camel"):
    pattern: str
    session_id: str | None = None
    category: Category = "all"
    context_lines: int = 2
    limit: int = 50
    case_sensitive: bool = False


class ExceptionsParams(Struct, kw_only=True, rename="camel"):
    session_id: str | None = None
    count: int = 10
    with_context: bool = True
    context_lines: int = 5


class TimelineParams(Struct, kw_only=True, rename="camel"):
    session_id: str | None = None
    event_types: list[str] | None = None
    window: int | None = None
    granularity: Literal["all", "summary", "milestones"] = "all"
    from_end: bool = False


class StatsParams(Struct, kw_only=True, rename="camel"):
    session_id: str | None = None
    group_by: str = "category"
    include_charts: bool = True


class LineFilters(Struct, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Which lines of a recording `dap.filter` returns."""

    categories: list[str] | None = None
    sources: list[str] | None = None
    time_range: dict[str, Any] | None = None
    include: str | None = None
    exclude: str | None = None


class FilterParams(Struct, kw_only=True, rename="camel"):
    filters: dict[str, Any]
    session_id: str | None = None


class CompareParams(Struct, kw_only=True, rename="camel"):
    session_a: str
    session_b: str
    compare_by: Literal["counts", "exceptions", "timeline", "outputs"] = "counts"


async def summary(debugger: Debugger, params: SummaryParams, job: ScriptCall) -> dict[str, Any]:  # noqa: ARG001
    record = _load(debugger, params.session_id, missing="E_INVALID_SESSION_ID")
    exceptions = record.exceptions()
    answer = {
        "sessionId": record.id,
        "title": record.about.get("title"),
        "started": _moment(record.begun),
        "seconds": round(record.lasted, 3),
        "exitCode": record.exit_code(),
        "stops": len(record.entries_of("stop")),
        "lines": len(record.lines()),
        "exceptions": len(exceptions),
    }
    if params.compact:
        return answer
    return answer | {
        "adapter": record.about.get("adapter"),
        "events": dict(Counter(one["type"] for one in record.entries)),
        "lastStops": [_place(one["body"]) for one in record.entries_of("stop")[-5:]],
        "lastException": exceptions[-1] if exceptions else None,
        "lastLines": [line.text for line in record.lines()[-5:]],
        "sessions": [str(number) for number in session_recorder.list_recordings(_folder(debugger))],
    }


async def logs(debugger: Debugger, params: LogsParams, job: ScriptCall) -> dict[str, Any]:  # noqa: ARG001
    record = _load(debugger, params.session_id)
    since = _since(params.since, record)
    lines = [line for line in record.lines(params.category) if line.at >= since]
    if params.search:
        lines = [line for line in lines if params.search.lower() in line.text.lower()]
    if not lines:
        raise debug_errors.debug_error(
            "E_NO_LOGS", f"session {record.id} wrote nothing like that", "call dap_logs with less"
        )
    shown = lines[-params.count :]
    if params.reverse:
        shown.reverse()
    rows = [_row(line, record, with_source=params.show_source) for line in shown]
    return {"sessionId": record.id, "total": len(lines), "lines": rows}


async def search(debugger: Debugger, params: SearchParams, job: ScriptCall) -> dict[str, Any]:  # noqa: ARG001
    pattern = _pattern(params.pattern, case_sensitive=params.case_sensitive)
    record = _load(debugger, params.session_id)
    lines = record.lines(params.category)
    hits = [number for number, line in enumerate(lines) if pattern.search(line.text)]
    if not hits:
        raise debug_errors.debug_error(
            "E_NO_RESULTS", f"nothing in session {record.id} matches {params.pattern!r}", "call dap_logs to read it"
        )
    around = max(0, params.context_lines)
    matches = [
        {
            "line": number + 1,
            **_row(lines[number], record, with_source=True),
            "before": [line.text for line in lines[max(0, number - around) : number]],
            "after": [line.text for line in lines[number + 1 : number + 1 + around]],
        }
        for number in hits[: params.limit]
    ]
    return {"sessionId": record.id, "total": len(hits), "matches": matches}


async def exceptions(debugger: Debugger, params: ExceptionsParams, job: ScriptCall) -> dict[str, Any]:  # noqa: ARG001
    record = _load(debugger, params.session_id)
    found = record.exceptions()
    if not found:
        raise debug_errors.debug_error(
            "E_NO_EXCEPTIONS", f"session {record.id} saw no exception", "call dap_logs for its output"
        )
    shown = found[-params.count :]
    if params.with_context:
        lines = record.lines()
        for one in shown:
            before = [line.text for line in lines if line.at <= one["at"]]
            one["before"] = before[-params.context_lines :] if params.context_lines else []
    rows = [one | {"at": _offset(one["at"], record)} for one in shown]
    return {"sessionId": record.id, "total": len(found), "exceptions": rows}


async def timeline(debugger: Debugger, params: TimelineParams, job: ScriptCall) -> dict[str, Any]:  # noqa: ARG001
    record = _load(debugger, params.session_id)
    entries = record.entries
    if params.event_types:
        entries = [one for one in entries if one["type"] in params.event_types]
    if params.granularity == "milestones":
        entries = [one for one in entries if one["type"] in MILESTONE_EVENTS]
    if params.window is not None:
        edge = params.window / 1000
        last = record.begun + record.lasted
        entries = [
            one for one in entries if (last - one["at"] if params.from_end else one["at"] - record.begun) <= edge
        ]
    if not entries:
        raise debug_errors.debug_error(
            "E_NO_EVENTS", f"session {record.id} has no such events", "call dap_timeline with fewer limits"
        )
    if params.granularity == "summary":
        return {"sessionId": record.id, "counts": dict(Counter(one["type"] for one in entries))}
    shown = entries[-200:] if params.from_end else entries[:200]
    rows = [{"at": _offset(one["at"], record), "type": one["type"], "what": _what(one)} for one in shown]
    more = {"more": f"{len(entries) - 200}; narrow it by window or eventTypes"} if len(entries) > 200 else {}
    return {"sessionId": record.id, "total": len(entries), "events": rows} | more


async def stats(debugger: Debugger, params: StatsParams, job: ScriptCall) -> dict[str, Any]:  # noqa: ARG001
    if params.group_by not in ("category", "source", "hour", "session"):
        raise debug_errors.debug_error(
            "E_INVALID_GROUP_BY", f"cannot group by {params.group_by!r}", "one of: category, source, hour, session"
        )
    numbers = session_recorder.list_recordings(_folder(debugger))
    wanted = [params.session_id] if params.session_id or params.group_by != "session" else [str(one) for one in numbers]
    counts: Counter[str] = Counter()
    for record in [_load(debugger, one) for one in wanted]:
        for line in record.lines():
            counts[_group(params.group_by, line, record)] += 1
    if not counts:
        raise debug_errors.debug_error("E_NO_DATA", "nothing was written", "call dap_timeline for what happened")
    answer: dict[str, Any] = {"groupBy": params.group_by, "counts": dict(counts.most_common(50))}
    if params.include_charts:
        top = counts.most_common(1)[0][1]
        answer["chart"] = [f"{name:<20} {'█' * max(1, 30 * n // top)} {n}" for name, n in counts.most_common(20)]
    return answer


async def filter_lines(debugger: Debugger, params: FilterParams, job: ScriptCall) -> dict[str, Any]:  # noqa: ARG001
    try:
        wanted = msgspec.convert(params.filters, LineFilters)
    except msgspec.ValidationError as error:
        raise debug_errors.debug_error(
            "E_INVALID_FILTERS", str(error), "filters has categories, sources, timeRange, include, exclude"
        ) from error
    record = _load(debugger, params.session_id)
    include = _pattern(wanted.include or "", code="E_INVALID_FILTERS")
    exclude = _pattern(wanted.exclude, code="E_INVALID_FILTERS") if wanted.exclude else None
    span = wanted.time_range or {}
    start, end = _since(span.get("from"), record), _since(span.get("to"), record, otherwise=float("inf"))
    lines = [
        line
        for line in record.lines()
        if (wanted.categories is None or line.category in wanted.categories)
        and (wanted.sources is None or any(one in line.source for one in wanted.sources))
        and start <= line.at <= end
        and include.search(line.text)
        and not (exclude and exclude.search(line.text))
    ]
    if not lines:
        raise debug_errors.debug_error(
            "E_NO_RESULTS", f"nothing in session {record.id} passes", "call dap_filter with fewer filters"
        )
    rows = [_row(line, record, with_source=True) for line in lines[:200]]
    return {"sessionId": record.id, "total": len(lines), "lines": rows}


async def compare(debugger: Debugger, params: CompareParams, job: ScriptCall) -> dict[str, Any]:  # noqa: ARG001
    pair = [_load(debugger, one, missing="E_SESSION_NOT_FOUND") for one in (params.session_a, params.session_b)]
    for one in pair:
        if len(one.entries) < 2:
            raise debug_errors.debug_error(
                "E_INSUFFICIENT_DATA", f"session {one.id} recorded nothing", "compare others"
            )
    one, other = pair
    answer: dict[str, Any] = {"compareBy": params.compare_by, "sessionA": one.id, "sessionB": other.id}
    match params.compare_by:
        case "counts":
            return answer | {"a": _counts(one), "b": _counts(other)}
        case "exceptions":
            found = [Counter(f"{x.get('type')}: {x.get('message')}" for x in record.exceptions()) for record in pair]
        case "timeline":
            found = [Counter(_place(x["body"]) for x in record.entries_of("stop")) for record in pair]
        case "outputs":
            found = [Counter(line.text for line in record.lines()) for record in pair]
    return answer | {
        "onlyA": list((found[0] - found[1]).elements())[:100],
        "onlyB": list((found[1] - found[0]).elements())[:100],
        "both": (found[0] & found[1]).total(),
    }


def _folder(debugger: Debugger) -> str:
    return os.path.join(debugger.folder, "sessions")


def _load(debugger: Debugger, ident: str | None, *, missing: str = "E_NO_SESSION") -> RecordedSession:
    """The recording of a session, or the last one."""
    numbers = session_recorder.list_recordings(_folder(debugger))
    if not numbers:
        raise debug_errors.no_session("no session was recorded yet")
    wanted = str(numbers[-1]) if ident is None else ident.partition(".")[0]
    if wanted not in map(str, numbers):
        known = ", ".join(map(str, numbers))
        raise debug_errors.debug_error(missing, f"no session {ident!r} was recorded", f"one of: {known}")
    try:
        return RecordedSession(id=wanted, entries=session_recorder.read_recording(_folder(debugger), int(wanted)))
    except OSError as error:
        raise debug_errors.debug_error(
            missing, f"the recording of session {wanted} is gone", RECORD_FIRST_HINT
        ) from error


def _pattern(text: str, *, case_sensitive: bool = False, code: str = "E_INVALID_REGEX") -> re.Pattern[str]:
    try:
        return re.compile(text, 0 if case_sensitive else re.IGNORECASE)
    except re.error as error:
        raise debug_errors.debug_error(
            code, f"no regular expression: {text!r}: {error}", "escape what is meant literally"
        ) from error


def _since(given: Any, record: RecordedSession, *, otherwise: float = 0.0) -> float:
    """A time: ISO 8601, or seconds after the session began, or before its end if negative."""
    if given is None or given == "":
        return otherwise
    try:
        seconds = float(str(given).removesuffix("s"))
    except ValueError:
        try:
            return datetime.fromisoformat(str(given)).timestamp()
        except ValueError:
            raise debug_errors.debug_error(
                "E_INVALID_PARAM", f"no moment: {given!r}", "give seconds after the start, or 2026-01-31T12:00:00Z"
            ) from None
    return record.begun + seconds if seconds >= 0 else record.begun + record.lasted + seconds


def _group(by: str, line: RecordedLine, record: RecordedSession) -> str:
    match by:
        case "source":
            return line.source or "unknown"
        case "hour":
            return f"{datetime.fromtimestamp(line.at, UTC):%Y-%m-%d %H:00}"
        case "session":
            return record.id
        case _:
            return line.category


def _counts(record: RecordedSession) -> dict[str, Any]:
    return {
        "seconds": round(record.lasted, 3),
        "exitCode": record.exit_code(),
        "stops": len(record.entries_of("stop")),
        "lines": len(record.lines()),
        "exceptions": len(record.exceptions()),
        "events": dict(Counter(one["type"] for one in record.entries)),
    }


def _row(line: RecordedLine, record: RecordedSession, *, with_source: bool) -> dict[str, Any]:
    row = {"at": _offset(line.at, record), "category": line.category, "text": line.text}
    return row | ({"source": line.source} if with_source and line.source else {})


def _place(body: dict[str, Any]) -> str:
    frames = body.get("frames") or [{}]
    return f"{body.get('reason')} in {frames[0].get('name')} at {frames[0].get('file')}:{frames[0].get('line')}"


def _what(entry: dict[str, Any]) -> str:
    body = entry["body"]
    if entry["type"] == "stop":
        return _place(body)
    words = [f"{name}={value}" for name, value in body.items() if isinstance(value, str | int | float)]
    return " ".join(words)[:200]


def _offset(at: float, record: RecordedSession) -> float:
    """Seconds after the session began."""
    return round(at - record.begun, 3)


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


SCRIPTS = {
    "dap.summary": (SummaryParams, summary),
    "dap.logs": (LogsParams, logs),
    "dap.search": (SearchParams, search),
    "dap.exceptions": (ExceptionsParams, exceptions),
    "dap.timeline": (TimelineParams, timeline),
    "dap.stats": (StatsParams, stats),
    "dap.filter": (FilterParams, filter_lines),
    "dap.compare": (CompareParams, compare),
}
