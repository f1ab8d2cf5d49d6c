"""All work tools."""

from binnacle.tools.tool_spec import ToolSpec
from binnacle.tools.work import comments, features, intents, journal, project, reviews, tasks
from binnacle.tools.work.access import StoreAccess
from binnacle.tools.work.typed_tool import declared_names, specs

MODULES = (tasks, comments, features, journal, project, intents, reviews)
"""Importing them declares their tools, in the order in which agents see them."""


def work_tools(access: StoreAccess) -> list[ToolSpec]:
    """Every tool that changes or reads the work, executed through `access`."""
    return specs(access)


def names() -> list[str]:
    """The names of the work tools, including aliases."""
    return declared_names()
