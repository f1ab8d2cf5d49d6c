"""A session as it was recorded: its events, its output by lines, its exceptions."""

from typing import Any, Literal

from msgspec import Struct

Category = Literal["all", "stdout", "stderr", "console", "telemetry"]


class RecordedLine(Struct, kw_only=True):
    """A line of output."""

    at: float
    category: str
    text: str
    source: str = ""


class RecordedSession(Struct, kw_only=True):
    """A session as it was recorded."""

    id: str
    entries: list[dict[str, Any]]

    @property
    def about(self) -> dict[str, Any]:
        found: dict[str, Any] = self.entries[0]["body"] if self.entries else {}
        return found

    @property
    def begun(self) -> float:
        return float(self.entries[0]["at"]) if self.entries else 0.0

    @property
    def lasted(self) -> float:
        return float(self.entries[-1]["at"]) - self.begun if self.entries else 0.0

    def entries_of(self, *kinds: str) -> list[dict[str, Any]]:
        return [one for one in self.entries if one["type"] in kinds]

    def lines(self, category: Category = "all") -> list[RecordedLine]:
        """The output by lines, joined from its pieces."""
        found: list[RecordedLine] = []
        open_: dict[str, RecordedLine] = {}
        for one in self.entries_of("output"):
            body = one["body"]
            kind = str(body.get("category") or "console")
            if category not in ("all", kind):
                continue
            for piece in str(body.get("output", "")).splitlines(keepends=True):
                if (line := open_.get(kind)) is None:
                    line = open_[kind] = RecordedLine(at=one["at"], category=kind, text="", source=_source(body))
                    found.append(line)
                line.text += piece.rstrip("\n")
                if piece.endswith("\n"):
                    del open_[kind]
        return found

    def exceptions(self) -> list[dict[str, Any]]:
        """The exceptions at which it stopped, and those it printed."""
        stops = [
            {"at": one["at"], "seen": "stop", **one["body"]["exception"], "frames": one["body"].get("frames", [])}
            for one in self.entries_of("stop")
            if "exception" in one["body"]
        ]
        return sorted(stops + _tracebacks(self.lines()), key=lambda one: float(one["at"]))

    def exit_code(self) -> int | None:
        """The exit code of the program, if it ended by itself."""
        found = [
            one["body"].get("exitCode") for one in self.entries_of("exited", "end") if one["target"] in ("", self.id)
        ]
        return found[-1] if found else None


def _tracebacks(lines: list[RecordedLine]) -> list[dict[str, Any]]:
    """Tracebacks of uncaught exceptions in the output."""
    found = []
    places: list[str] | None = None
    for line in lines:
        if line.text.startswith("Traceback (most recent call last)"):
            places = []
        elif places is not None and line.text.startswith("  File "):
            places.append(line.text.strip())
        elif places and line.text and not line.text.startswith(" "):
            kind, _, message = line.text.partition(": ")
            found.append({"at": line.at, "seen": "output", "type": kind, "message": message, "places": places[-5:]})
            places = None
    return found


def _source(body: dict[str, Any]) -> str:
    path = (body.get("source") or {}).get("path") or ""
    return f"{path}:{body['line']}" if path and "line" in body else path
