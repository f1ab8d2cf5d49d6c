"""`bn prompt`: what the agent of a session reads first."""

import os
from argparse import Namespace
from collections.abc import Mapping
from typing import TYPE_CHECKING

from binnacle.cli.command import READS, CommandAnswer, Group, arg, by_person
from binnacle.cli.commands.plan import SUBJECT, PlanTokens, make_session_plan, tokens_of
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen, printable
from binnacle.config.private_files import make_folder
from binnacle.config.repository_files import hint_of, is_below, write_inside
from binnacle.errors import Duplicate, InvalidInput
from binnacle.work.session import SessionTerms

if TYPE_CHECKING:
    from binnacle.plan.session_plan import SessionPlan

PROMPT = Group("prompt")


class PromptSection(CommandAnswer):
    """A section of a prompt, what it costs and what was left out of it."""

    name: str
    tokens: int
    cut: str


class SessionPromptAnswer(CommandAnswer):
    """What the agent of a session reads first."""

    recipe: str
    prompt: str
    sections: list[PromptSection]
    tokens: PlanTokens


class TemplateAnswer(CommandAnswer, kw_only=True):
    """The template of a run's prompts, or the file it was written to."""

    template: str | None = None
    file: str | None = None
    variables: Mapping[str, str]
    next: str = ""


def _show(answer: SessionPromptAnswer, screen: Screen) -> None:
    screen.block(answer.prompt, indent=0)
    screen.line()
    rows = [(one.name, str(one.tokens), one.cut) for one in answer.sections]
    rows += [("prompt", str(answer.tokens.prompt), ""), ("tools", str(answer.tokens.tools), "")]
    screen.table(rows, flexible=2, headings=("SECTION", "TOKENS", "LEFT OUT"))


@PROMPT.command(
    "show",
    "the prompt of a session, with what each section costs",
    "bn prompt show task --task bn-1f3a",
    arg("recipe", nargs="?", default="default", completes="recipe", help="its recipe (default)"),
    *SUBJECT,
    arg("--input", metavar="TEXT", default="", help="what a person wants from it; - reads stdin"),
    arg("--template", metavar="FILE", help="use this template of a run instead of the recipe"),
    view=_show,
    needs=READS,
)
def show(context: Context, args: Namespace) -> SessionPromptAnswer:
    said = context.read_input("-") if args.input == "-" else args.input
    plan = (
        _templated(context, args, said)
        if args.template
        else make_session_plan(context, args, recipe=args.recipe, said=said)
    )
    sections = [PromptSection(name=one.name, tokens=one.tokens, cut=one.cut) for one in plan.prompt.sections]
    return SessionPromptAnswer(recipe=plan.recipe, prompt=plan.prompt.text, sections=sections, tokens=tokens_of(plan))


def _templated(context: Context, args: Namespace, said: str) -> "SessionPlan":
    from binnacle.app.prompt_templates import read_template, with_template
    from binnacle.plan.prompt_data import RunSituation
    from binnacle.project.tool_catalog import catalog_of
    from binnacle.runner.prompt_template import TemplateValues
    from binnacle.sessions.planning import make_plan

    project, catalog = context.project, catalog_of(context.project)
    terms = SessionTerms(args.recipe, args.discipline, args.feature, args.task)
    template = read_template(project, args.template)
    with context.reading() as tx:
        run = RunSituation()
        made = make_plan(tx, project, catalog, terms, said=said, run=run)
        values = TemplateValues(run="RUN", session="SESSION", iteration=1)
        return with_template(tx, project, catalog, template, made.recipe, made.plan, values, run=run)


def _show_template(answer: TemplateAnswer, screen: Screen) -> None:
    if answer.file is not None:
        screen.line(f"{screen.styled('✓', 'green')} {printable(answer.file)}")
        screen.line(f"next: {answer.next}")
    elif answer.template is not None:
        # To a terminal what can be seen, elsewhere what was written: it may become the file of a template.
        screen.write(printable(answer.template, keep_lines=True) if screen.is_terminal else answer.template)


@PROMPT.command(
    "template",
    "the prompt template of a run's iterations, for editing, and its variables",
    "bn prompt template -o .binnacle/prompts/run.md",
    arg("-o", "--output", metavar="FILE", help="write it there; every run uses .binnacle/prompts/run.md"),
    arg("--force", action="store_true", help="even if the file exists"),
    view=_show_template,
    needs=lambda args: by_person("write a template to a file") if args.output else READS,
)
def template(context: Context, args: Namespace) -> TemplateAnswer:
    from binnacle.runner.prompt_template import DEFAULT_TEMPLATE, TEMPLATE_FILE, TEMPLATE_VARIABLES, find_template

    text = find_template(context.project.repo, DEFAULT_TEMPLATE).text
    if not args.output:
        return TemplateAnswer(template=text, variables=TEMPLATE_VARIABLES)
    path = os.path.abspath(args.output)
    try:
        _write(path, text, context.project.repo, is_new=not args.force)
    except FileExistsError as error:
        raise Duplicate(
            f"the file exists already: {path}", hint="name another, or overwrite it with --force"
        ) from error
    except OSError as error:
        raise InvalidInput(f"cannot write {path}: {error.strerror}", hint=hint_of(error)) from error
    is_default = os.path.realpath(path) == os.path.realpath(os.path.join(context.project.repo, TEMPLATE_FILE))
    used = "bn run" if is_default else f"bn run --template {args.output}"
    look = f"bn prompt show loop --template {args.output}"
    step = f"edit it and look at it with: {look}; {used} uses it"
    return TemplateAnswer(file=path, variables=TEMPLATE_VARIABLES, next=step)


def _write(path: str, text: str, repo: str, *, is_new: bool) -> None:
    """Writes a template: in the project through no link that leads out of it, elsewhere where a person wants it."""

    if is_below(repo, path):
        write_inside(repo, path, text.encode(), is_new=is_new)
        return
    make_folder(os.path.dirname(path))
    with open(path, "x" if is_new else "w", encoding="utf-8") as file:
        file.write(text)
