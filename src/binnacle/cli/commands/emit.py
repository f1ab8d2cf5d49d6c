"""`bn system emit`: prints the prompts and scripts that come with Binnacle. Needs no project and changes nothing."""

import os
import sys
from argparse import Namespace

from binnacle.cli.command import READS, CommandAnswer, arg
from binnacle.cli.commands.system import SYSTEM
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen

FOLDER = os.path.join(os.path.dirname(__file__), "templates")

TEMPLATES = {
    # name: (file, what it is for)
    "worker": ("worker.md", "prompt: take one task, do it, finish it"),
    "planner": ("planner.md", "prompt: turn a goal into tasks with a person"),
    "reviewer": ("reviewer.md", "prompt: check finished work against its task"),
    "buddy": ("buddy.md", "prompt: turn what a person says into tasks"),
    "mcp-lifecycle": ("mcp-lifecycle.md", "prompt: orient, set_agent and goodbye, with both MCP and a shell"),
    "copilot-instructions": ("copilot-instructions.md", "for .github/copilot-instructions.md"),
    "skill": ("skill.md", "for .claude/skills/binnacle/SKILL.md and its like"),
    "agents.sh": ("agents.sh", "script: start Claude Code, Copilot, opencode, Codex, Gemini or goose with a prompt"),
}


class ListedTemplate(CommandAnswer):
    """A template and what it is for."""

    name: str
    about: str


class TemplateListAnswer(CommandAnswer):
    """What can be printed."""

    templates: list[ListedTemplate]


def read_template(name: str) -> str:
    """The text of one template."""
    with open(os.path.join(FOLDER, TEMPLATES[name][0]), encoding="utf-8") as file:
        return file.read()


def _show(answer: TemplateListAnswer, screen: Screen) -> None:
    screen.table(((one.name, one.about) for one in answer.templates), flexible=1)
    screen.line("print one with: bn system emit NAME")


@SYSTEM.command(
    "emit",
    "print a prompt or a script; without a name, list them",
    "bn system emit agents.sh > agents.sh",
    arg("name", nargs="?", choices=tuple(TEMPLATES), help="which"),
    view=_show,
    needs=READS,
)
def emit(context: Context, args: Namespace) -> TemplateListAnswer | None:  # noqa: ARG001
    if args.name is None:
        return TemplateListAnswer(
            templates=[ListedTemplate(name=name, about=about) for name, (_, about) in TEMPLATES.items()]
        )
    sys.stdout.write(read_template(args.name))
    return None
