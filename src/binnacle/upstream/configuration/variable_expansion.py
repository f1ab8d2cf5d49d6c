"""Fills in `${…}` in the strings of a configuration. An undefined variable never becomes an empty string.

${VAR}  ${env:VAR}     the environment variable
${VAR:-default}        the default where VAR is undefined or empty; may hold variables itself
${input:some-id}       VS Code's inputs: the environment variable BN_INPUT_SOME_ID; nobody is asked
${workspaceFolder}     the project; also ${workspaceFolderBasename} and ${userHome}
$${VAR}                the text ${VAR}
"""

import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

_VARIABLE = re.compile(r"(?:env:)?([A-Za-z_][A-Za-z0-9_]*)")
_INPUT = re.compile(r"input:([A-Za-z0-9_.-]+)")
_SHOWABLE = re.compile(r"[A-Za-z0-9_:.-]{1,60}")

_FORMS = "write ${VAR}, ${VAR:-default} or ${input:id}; $${ for a ${ that is meant literally"


GIVEN = ("workspaceFolder", "workspaceFolderBasename", "userHome")
"""Variables that need no environment."""


class UndefinedVariable(NamedTuple):
    """A variable that could not be filled in."""

    message: str
    hint: str


class ProjectVariables:
    """The values of variables in one project."""

    def __init__(self, environ: Mapping[str, str], *, repo: str) -> None:
        self._environ = environ
        home = environ.get("HOME") or os.path.expanduser("~")
        self._given = dict(zip(GIVEN, (repo, os.path.basename(repo), home), strict=True))

    def fill(self, text: str) -> tuple[str, list[UndefinedVariable]]:
        """The text with everything filled in, and what could not be."""
        gaps: list[UndefinedVariable] = []
        return self._fill_in(text, gaps), gaps

    def _fill_in(self, text: str, gaps: list[UndefinedVariable]) -> str:
        parts: list[str] = []
        at = 0
        while (start := text.find("${", at)) >= 0:
            if text[start - 1 : start] == "$":
                parts += (text[at : start - 1], "${")
                at = start + 2
                continue
            end = _closing(text, start + 2)
            if end < 0:
                gaps.append(UndefinedVariable("a '${' in it is not closed", _FORMS))
                break
            parts += (text[at:start], self._value(text[start + 2 : end], gaps))
            at = end + 1
        return "".join((*parts, text[at:]))

    def _value(self, body: str, gaps: list[UndefinedVariable]) -> str:
        name, has_default, default = body.partition(":-")
        variable, gap = _find_variable(name)
        value = self._given.get(name) or self._environ.get(variable)
        if variable and has_default and not value:
            return self._fill_in(default, gaps)
        if not variable or value is None:
            gaps.append(gap)
            return ""
        return value


def variables_in(text: str) -> set[str]:
    """The variables that may be filled into a text, whether they are defined or not: of the environment, and ours."""
    found: set[str] = set()
    at = 0
    while (start := text.find("${", at)) >= 0:
        at = start + 2
        end = _closing(text, at)
        if end < 0 or text[start - 1 : start] == "$":
            continue
        name, _, default = text[at:end].partition(":-")
        found |= {_find_variable(name)[0]} - {""}
        found |= variables_in(default)
        at = end + 1
    return found


def _find_variable(name: str) -> tuple[str, UndefinedVariable]:
    """The environment variable that is meant, empty for none, and what to say if it is undefined."""
    if found := _VARIABLE.fullmatch(name):
        variable = found[1]
        return variable, UndefinedVariable(
            f"${{{name}}} is not defined", f"export {variable}, or write ${{{variable}:-default}}"
        )
    if found := _INPUT.fullmatch(name):
        variable = input_variable(found[1])
        return variable, UndefinedVariable(
            f"${{{name}}} is not defined", f"export {variable}; nobody is asked for inputs here"
        )
    # The text in the braces may be a part of a password.
    shown = f"${{{name}}}" if _SHOWABLE.fullmatch(name) else "a '${…}' in it"
    return "", UndefinedVariable(f"{shown} is no variable", _FORMS)


def input_variable(name: str) -> str:
    """The environment variable that replaces an input of VS Code."""
    return "BN_INPUT_" + re.sub(r"[^A-Za-z0-9]", "_", name).upper()


def has_variable(text: Any) -> bool:
    """Whether a value contains a variable."""
    return isinstance(text, str) and "${" in text.replace("$${", "")


def _closing(text: str, at: int) -> int:
    """Where a variable ends, past variables within it; -1 if it does not end."""
    depth = 1
    for found in re.finditer(r"\$\{|\}", text[at:]):
        depth += 1 if found[0] == "${" else -1
        if depth == 0:
            return at + found.start()
    return -1
