"""`python -m binnacle.demo_agent`."""

from binnacle.demo_agent.main import run

run()
