"""The demo agent that misbehaves on demand, as a command: `python tests/misbehaving_agent.py --misbehave WORD`."""

import sys
from pathlib import Path


def main() -> None:
    """Runs it with both packages that it needs: this folder is on the path, the one of the demo is not."""
    sys.path.append(str(Path(__file__).parents[1] / "demo"))
    from demo_agent.misbehaving_agent import run

    run()


if __name__ == "__main__":
    main()
