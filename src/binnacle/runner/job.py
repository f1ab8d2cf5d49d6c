"""What all iterations of a run share."""

from typing import NamedTuple

from binnacle.processes.keeper import Keeper
from binnacle.runner.budget import Spending
from binnacle.runner.control import Control
from binnacle.runner.desk import Desk, Options
from binnacle.runner.events import Tell
from binnacle.runner.hooking import Hooks
from binnacle.runner.ledger import Ledger
from binnacle.runner.permissions import Ask


class Job(NamedTuple):
    """A run, for those who do a part of it."""

    options: Options
    desk: Desk
    ledger: Ledger
    hooks: Hooks
    keeper: Keeper
    control: Control
    tell: Tell
    decide: Ask
    """On what agents ask permission for."""

    spent: Spending
    pending: list[str]
    """What hooks said since the last prompt, for the agent to know."""
