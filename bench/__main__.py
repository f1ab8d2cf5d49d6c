"""The command line of the benchmarks."""

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from bench import report, store
from bench.measure import Failed, yardstick
from bench.plan import Plan
from bench.report import Result

GROUPS: dict[str, Callable[[Plan], Iterator[Result]]] = {"store": store.measure}


def main() -> int:
    """Measures what was asked for. 1 only when something could not be measured: a missed budget is said, not failed."""
    asked = _arguments()
    before = _read(asked.against) if asked.against else None
    # Ctrl-C and a polite kill both leave through the `finally` and `with` blocks that stop what was started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    results: list[Result] = []
    failed = False
    with tempfile.TemporaryDirectory(prefix="bn-bench-", ignore_cleanup_errors=True) as folder:
        plan = (
            Plan(folder=folder, sizes=(1_000, 5_000), rounds=3)
            if asked.quick
            else Plan(folder=folder, sizes=(1_000, 10_000, 100_000), rounds=15)
        )
        pace = yardstick()
        for name in asked.groups:
            try:
                results.extend(GROUPS[name](plan))
            except Failed as error:
                failed = True
                print(f"{name}: {error}", file=sys.stderr)
    print(report.table(results, before, yardstick=pace))
    print()
    print(report.summary(results))
    print(f"written: {report.write(results, yardstick=pace, quick=asked.quick)}")
    return int(failed)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=main.__doc__)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"what to measure: {', '.join(GROUPS)}; default all")
    parser.add_argument("--quick", action="store_true", help="small sizes, few rounds, no peers: under 40 s")
    parser.add_argument("--against", metavar="FILE", help="results of an earlier run to compare with")
    asked = parser.parse_args()
    for name in asked.groups:
        if name not in GROUPS:
            parser.error(f"no group {name!r}; there are: {', '.join(GROUPS)}")
    asked.groups = asked.groups or [name for name in GROUPS if not (asked.quick and name == "peers")]
    return asked


def _read(path: str) -> dict[str, Any]:
    with open(path, encoding="utf-8") as file:
        content: dict[str, Any] = json.load(file)
    return content


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
