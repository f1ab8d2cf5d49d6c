"""The command line of the benchmarks."""

import argparse
import json
import signal
import sys
import tempfile
import traceback
from collections.abc import Sequence
from contextlib import closing

from bench import board_page, commands, debug, evidence, gateway, machine, page, report, server, store, trackers
from bench.measure import Failed
from bench.plan import Plan

GROUPS = {
    "cold": commands.measure_cold,
    "server": server.measure,
    "gateway": gateway.measure,
    "debug": debug.measure,
    "evidence": evidence.measure,
    "peers": trackers.measure,
    "page": board_page.measure,
    "store": store.measure,
    "cli": commands.measure_cli,
}
"""In the order in which they are measured. A machine that is too busy for all of them leaves the last ones out."""

WITH_PEERS = {"server", "gateway", "debug", "peers", "page"}
"""Groups that fetch other people's programs."""


def main() -> int:
    """Measures every group, or those named. A missed budget is said, not failed: it is no test.

    A run of every group also writes bench/results.json and docs/performance.md; `--publish` puts those named into them.
    """
    asked = _arguments()
    facts = machine.facts()
    # Ctrl-C and a polite kill both leave through the `finally` and `with` blocks that stop what was started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="bn-bench-", ignore_cleanup_errors=True) as folder:
        sizes, rounds = ((1_000, 10_000), 5) if asked.quick else ((1_000, 10_000, 100_000), 15)
        plan = Plan(folder=folder, sizes=sizes, rounds=rounds)
        results, failures = _measure(plan, asked.groups)
    print(report.table(results, asked.against))
    facts["seconds"] = round(plan.seconds)
    if asked.is_whole:
        path = report.write(results, facts, failures, is_published=True)
    elif asked.publish:
        path = report.add(results, facts, failures, groups=asked.groups)
    else:
        path = report.write(results, facts, failures, is_published=False)
    print(f"written: {path}")
    if asked.is_whole or asked.publish:
        print("written: " + ", ".join(page.write()))
    for failure in failures:
        print(failure, file=sys.stderr)
    return 1 if failures else 0


def _measure(plan: Plan, groups: Sequence[str]) -> tuple[list[report.Result], list[str]]:
    """What was found, and why some of it was not."""
    results: list[report.Result] = []
    failures: list[str] = []
    for name in groups:
        if plan.is_over:
            failures.append(f"{name} was not measured: there was no time left")
            continue
        try:
            with closing(GROUPS[name](plan)) as found:  # closing it stops what it has started
                for result in found:
                    results.append(result)
                    plan.check_time()
        except Exception as error:  # noqa: BLE001 - a group that breaks must not cost the results of the others
            reason = error if isinstance(error, Failed) else traceback.format_exc()
            failures.append(f"{name} could not be measured to its end: {reason}")
    return results, failures


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=main.__doc__)
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(GROUPS)}; all, when none is named")
    parser.add_argument("--quick", action="store_true", help="small sizes, few rounds, no peers: under 40 s")
    parser.add_argument("--publish", action="store_true", help="put the groups named into docs/performance.md")
    parser.add_argument("--against", metavar="FILE", help="results of an earlier run to compare with")
    asked = parser.parse_args()
    for name in asked.groups:
        if name not in GROUPS:
            parser.error(f"no group {name!r}; there are: {', '.join(GROUPS)}")
    asked.is_whole = not asked.groups and not asked.quick
    asked.groups = asked.groups or [name for name in GROUPS if not (asked.quick and name in WITH_PEERS)]
    if asked.against:
        try:
            with open(asked.against, encoding="utf-8") as file:
                asked.against = {(row["group"], row["name"]): row for row in json.load(file)["results"]}
        except (OSError, ValueError, LookupError, TypeError) as error:
            parser.error(f"not the results of an earlier run: {asked.against} ({error!r})")
    return asked


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
