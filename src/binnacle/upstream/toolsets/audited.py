"""Records who asked what, how long it took, how large the answer was and how it ended: a line of JSON a request."""

import time
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Raw

from binnacle.config.rolling_file import RollingFile
from binnacle.errors import BinnacleError, UpstreamError
from binnacle.upstream.toolsets.toolset import Result, Toolset, ToolsetWrapper, UpstreamAnswer, UpstreamRequest
from binnacle.wire.jsonrpc import RpcError

MAX_AUDIT_BYTES = 16 << 20
"""Bytes of the file, beyond which it is renamed to `….old`; the `.old` before is removed."""


class AuditLog:
    """Appends lines to a file."""

    def __init__(self, path: str) -> None:
        self._file = RollingFile(path, MAX_AUDIT_BYTES)

    def write(self, line: dict[str, Any]) -> None:
        """Appends a line."""
        moment = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._file.append(msgspec.json.encode({"at": moment, **line}) + b"\n")

    def close(self) -> None:
        self._file.close()


class AuditedToolset(ToolsetWrapper):
    """Records every request, whether it is answered, fails or is cancelled."""

    def __init__(self, inner: Toolset, log: AuditLog) -> None:
        super().__init__(inner)
        self._log = log

    async def send(self, request: UpstreamRequest) -> UpstreamAnswer:
        began = time.perf_counter()
        outcome, size_bytes = "cancelled", 0
        try:
            answer = await self._inner.send(request)
        except RpcError:
            outcome = UpstreamError.code
            raise
        except BinnacleError as error:
            outcome = error.code
            raise
        else:
            outcome, size_bytes = describe_outcome(answer.complete), answer.size_bytes
            return answer
        finally:
            spent = round((time.perf_counter() - began) * 1000, 1)
            self._log.write(
                {
                    "who": request.who,
                    request.kind: request.subject,
                    "outcome": outcome,
                    "bytes": size_bytes,
                    "ms": spent,
                }
            )


def describe_outcome(result: Result) -> str:
    """How an answered call ended, in a word."""
    if "inputRequests" in result:
        return "asked"
    return "failed" if result.get("isError") == Raw(b"true") else "ok"
