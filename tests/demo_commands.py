"""How tests start the demo agent: as it is, and as it misbehaves on demand. Both are commands for `--agent`."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
DEMO_AGENT = (sys.executable, str(ROOT / "demo" / "agent.py"))
MISBEHAVING_AGENT = (sys.executable, str(ROOT / "tests" / "misbehaving_agent.py"))
