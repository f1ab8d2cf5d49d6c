"""Runs the few tests that failed in the last run once more, one after the other, and names those that pass now.

    python tests/flaky.py

The tests share two cores with three others of their kind, and some wait for processes that get no time. A test that
fails again fails the run. One that passes is named as flaky: it is a fault of the test or a race in the product, and
has to be fixed, but it does not hold up everything else.
"""

import json
import subprocess
import sys
from pathlib import Path

LAST_FAILED = Path(".pytest_cache/v/cache/lastfailed")

MAX_FLAKY = 6
"""With more failures than this, something is broken."""


def main() -> int:
    failed = sorted(json.loads(LAST_FAILED.read_text())) if LAST_FAILED.exists() else []
    if not failed or len(failed) > MAX_FLAKY:
        print(f"==> {len(failed)} tests failed")
        return 1
    print(f"==> once more, alone: {len(failed)} tests that failed", flush=True)
    status = subprocess.run([sys.executable, "-m", "pytest", "-n", "0", *failed], check=False).returncode
    if status == 0:
        print("==> flaky, passed only when run alone:", *failed, sep="\n    ")
    return status


if __name__ == "__main__":
    sys.exit(main())
