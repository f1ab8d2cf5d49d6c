"""What `make demo` shows."""

import subprocess
import sys
from pathlib import Path

import pytest

from demo_agent.driver import environment

TOUR = Path(__file__).parents[2] / "demo" / "tour.py"


@pytest.mark.timeout(400)
def test_the_tour_runs_the_product_from_a_failing_test_to_a_complete_session(tmp_path):
    done = subprocess.run(
        [sys.executable, str(TOUR)], env=environment(tmp_path), capture_output=True, text=True, check=False, timeout=380
    )
    assert done.returncode == 0, done.stdout + done.stderr
    story = (
        "1 failed, 1 passed",
        "trusted: check:tests",
        "── planning",
        "breakpoint_set",
        "At cart.py:21 `return amount + reduction` sees amount=3000, reduction=300.",
        ": pass, 2 tests ran",
        ": fail, 1 test failed: tests.test_cart::test_code",
        ": pass, 3 tests ran",
        "✓ complete: 2 done: 2 checked",
        "**complete: 2 done: 2 checked**",
        ": 2 holds",
        "had to be `return amount - reduction`",
        "bn run spec.md --agent goose",
    )
    places = [done.stdout.find(part) for part in story]
    assert -1 not in places, story[places.index(-1)]
    assert places == sorted(places)
