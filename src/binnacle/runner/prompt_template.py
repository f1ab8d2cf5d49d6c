"""Makes the prompt of an iteration from a text that a person may edit, with variables in double braces.

    {{spec}}        a part of the plan's prompt, within its budget; TEMPLATE_VARIABLES lists all of them
    {{task_next}}   the name of a tool in the session
    \\{{             two braces

Parts of the prompt come from `plan.sections`, so nothing is written twice. A sentence that names a tool which the
session lacks is left out, by a variable or not, and so is a heading without text. Values are not expanded again: braces
in a specification are braces.
"""

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from binnacle.config.directories import PROJECT_DIR
from binnacle.config.repository_files import hint_of, read_file
from binnacle.config.trust import TrustItem, is_trusted
from binnacle.errors import ConfigError, did_you_mean
from binnacle.plan.prompt import Prompt
from binnacle.plan.prompt import render as render_sections
from binnacle.plan.prompt_data import PromptData
from binnacle.plan.recipe import Recipe
from binnacle.plan.sections import FORMS, SECTIONS
from binnacle.plan.tool_mentions import keep_known

DEFAULT_TEMPLATE = os.path.join(os.path.dirname(__file__), "run.md")
TEMPLATE_FILE = os.path.join(PROJECT_DIR, "prompts", "run.md")
"""Path in a repository; the default template of runs."""

_VARIABLE = re.compile(r"(\\?)\{\{(.*?)\}\}")
_HEADING = re.compile(r"#{1,6} ")
_ALONE = re.compile(r"\s*\{\{\s*(\w+)\s*\}\}\s*")
_MISSING = "missing_tool_of_this_session"
"""Marks a missing tool, until its sentence is removed."""

TEMPLATE_VARIABLES = {
    "run": "the name of the run",
    "session": "the id of the session",
    "iteration": "the number of the iteration",
    "spec": "what the run was asked to do, whole; {{requirements}} is what the task covers of it",
    "extra": "what else the agent is to know: --extra, what hooks said; at the end, where a template has it nowhere",
    "instructions": "the steps of the recipe, numbered",
} | {
    name: f"the section {form.heading!r}"
    for name, form in FORMS.items()
    if name in SECTIONS and name not in ("input", "extra")
}
"""The variables of a template, in addition to the names of tools."""


class PromptTemplate(Struct, frozen=True, kw_only=True):
    """A text with variables."""

    text: str
    file: str = "the template"

    @property
    def variables(self) -> list[str]:
        return [name for name, _ in _variables(self.text)]

    @property
    def sections(self) -> tuple[str, ...]:
        """The parts of the plan's prompt that it uses."""
        return tuple(dict.fromkeys(name for name in self.variables if name in SECTIONS))


class TemplateValues(Struct, frozen=True, kw_only=True):
    """The values that a run provides."""

    run: str = ""
    session: str = ""
    iteration: int | None = None


def find_template(repo: str, file: str | None = None) -> PromptTemplate:
    """The named template, else the project's if a person has trusted it, else ours.

    Raises:
        ConfigError: it cannot be read.
    """
    if file is None and (item := next(iter(find_trust_items(repo)), None)) and is_trusted(repo, item):
        return PromptTemplate(text=item.content, file=item.place)
    return _read(file or DEFAULT_TEMPLATE)


def find_trust_items(repo: str) -> list[TrustItem]:
    """The project's template, as a person sees it before trusting it.

    Raises:
        ConfigError: it cannot be read.
    """
    path = os.path.join(repo, TEMPLATE_FILE)
    if not os.path.lexists(path):
        return []
    does = "be what the agents of bn run read first, in the place of our own words"
    return [TrustItem(kind="template", name="run", place=path, does=does, content=_read(path).text)]


def _read(path: str) -> PromptTemplate:
    try:
        text = read_file(path).decode("utf-8-sig").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        hint = hint_of(error, "bn prompt template -o FILE writes one")
        raise ConfigError(f"cannot read {path}: {error}", hint=hint) from error
    return PromptTemplate(text=text, file=path)


def check_template(template: PromptTemplate, tools: Collection[str]) -> None:
    """Checks the variables of a template; `tools` are all names of all tools.

    Raises:
        ConfigError: with the line, the word, and the nearest that is known.
    """
    for name, start in _variables(template.text):
        if name not in TEMPLATE_VARIABLES and name not in tools and not name.startswith("mcp_"):
            line = template.text.count("\n", 0, start) + 1
            near = did_you_mean(name, [*TEMPLATE_VARIABLES, *tools])
            hint = "; ".join(filter(None, (near, f"there are {', '.join(TEMPLATE_VARIABLES)}, and the names of tools")))
            raise ConfigError(f"{template.file}:{line}: unknown variable {name!r}", hint=hint)


def render_template(
    template: PromptTemplate,
    recipe: Recipe,
    loaded: PromptData,
    names: Mapping[str, str],
    values: TemplateValues,
    *,
    tools: Mapping[str, str],
) -> str:
    """The prompt of a session that has the tools `names`, own name → shown name; `tools` are all names → own name.

    What decides is added at the end if the template does not use it.

    Raises:
        ConfigError: a variable is not known.
    """
    check_template(template, tools)
    prompt = render_sections(replace(recipe, sections=template.sections), loaded, names, all_names=tools.keys())
    found = _values(prompt, loaded, values)
    unknown = {*tools, _MISSING}

    def worded(text: str) -> str:
        return keep_known(_with_tools(text, names, tools), names, unknown)

    parts = [_render_part(heading, body, worded, found) for heading, body in _parts(template.text)]
    parts += [section.text for section in prompt.sections if section.name not in (*template.variables, "instructions")]
    text = "\n\n".join(part for part in parts if part)
    return f"{text}\n" if text else ""


def _values(prompt: Prompt, loaded: PromptData, values: TemplateValues) -> dict[str, str]:
    # Without its heading: a template has its own.
    bodies = {one.name: one.text.partition("\n\n")[2] for one in prompt.sections}
    return dict.fromkeys(TEMPLATE_VARIABLES, "") | {
        **bodies,
        "spec": loaded.user_input,
        "run": values.run or values.session,
        "session": values.session,
        "iteration": "" if values.iteration is None else str(values.iteration),
    }


def _with_tools(text: str, names: Mapping[str, str], tools: Mapping[str, str]) -> str:
    """Replaces tools by their names in the session, and missing tools by a mark that removes their sentence."""

    def shown(match: re.Match[str]) -> str:
        name = match[2].strip()
        if match[1] or name in TEMPLATE_VARIABLES:
            return match[0]
        return names.get(tools.get(name, name), _MISSING)

    return _VARIABLE.sub(shown, text)


def _render_part(heading: str, body: str, worded: Callable[[str], str], found: Mapping[str, str]) -> str:
    title = _fill(worded(heading), found)
    if not body.strip():
        return title
    text = _fill(worded(body), found)
    return "\n\n".join(part for part in (title, text) if part) if text else ""


def _fill(text: str, found: Mapping[str, str]) -> str:
    """Fills in all values. A line that is only an empty variable is removed, with one of the empty lines around it."""

    def value(match: re.Match[str]) -> str:
        return match[0].removeprefix("\\") if match[1] else found[match[2].strip()]

    lines: list[str] = []
    for line in text.split("\n"):
        alone = _ALONE.fullmatch(line)
        filled = found[alone[1]] if alone else _VARIABLE.sub(value, line)
        is_doubled = not line.strip() and (not lines or lines[-1] == "")
        if not is_doubled and (filled or not alone):
            lines.append(filled)
    return "\n".join(lines).strip("\n")


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """The parts of a text: a heading, if there is one, and the text below it."""
    heading, lines, is_code = "", list[str](), False
    for line in text.split("\n"):
        is_code ^= line.lstrip().startswith("```")
        if _HEADING.match(line) and not is_code:
            yield heading, "\n".join(lines)
            heading, lines = line, []
        else:
            lines.append(line)
    yield heading, "\n".join(lines)


def _variables(text: str) -> Iterator[tuple[str, int]]:
    """Each variable, and where it starts."""
    for match in _VARIABLE.finditer(text):
        if not match[1]:
            yield match[2].strip(), match.start()
