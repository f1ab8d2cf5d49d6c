"""Decides, before a command runs, whether its caller may run it.

A person may do everything. What only a person may do is refused to agents and to everything they started. For anything
else, the plan of the session decides in whose shell the command runs (`plan.rights`).
"""

from argparse import Namespace

from binnacle.cli.command import Command, CommandNeeds
from binnacle.cli.context import Context
from binnacle.errors import BinnacleError, NotFound, NotReady, Refused
from binnacle.project.person_only import refuse, require_person, require_settings_of_person


def authorise(context: Context, command: Command, args: Namespace) -> None:
    """Refuses a command that this caller may not run.

    Raises:
        PersonNeeded: only a person may run it.
        ToolDisabled: the plan of the session has no tool that does the same.
        InvalidInput: the tool that does takes no such parameter in this session.
        Refused: it may not be used on that task, or its shell leads to other settings than those of the person.
    """
    needs = command.needs_of(args)
    if not needs.is_reading:
        require_settings_of_person()
    if needs.act:
        _check_person(context, needs.act)
    elif needs.steps:
        check_plan(context, needs)


def check_plan(context: Context, needs: CommandNeeds) -> None:
    """Refuses what the plan of the session does not allow."""
    rights = context.rights
    if rights is None:
        if not needs.is_reading:
            context.check_at_home()
        return
    by = context.actor
    with context.reading() as tx:
        for step in needs.steps:
            rights.check(tx, by, step)


def _check_person(context: Context, act: str) -> None:
    require_person(act)
    try:
        is_agent = context.actor.kind == "agent"
    except (NotFound, NotReady, Refused):
        is_agent = True  # some agent, of which it is only unclear which
    except BinnacleError:
        return  # the store or a setting is broken, which the command may be there to repair
    if is_agent:
        raise refuse(act)
