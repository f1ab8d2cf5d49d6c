"""Asks the test runners that are known for a report, by options added to a check's words.

A runner is known by the words of the command, behind a launcher such as `uv run`. What another program starts (`make
test`, `npm test`) is not looked into: there the exit code counts, and what the output says.
"""

import os
from collections.abc import Sequence

from msgspec import Struct

from binnacle.work.verdict import ReportFormat

_LAUNCHERS = frozenset(
    ("env", "uv", "uvx", "poetry", "pdm", "hatch", "pipenv", "rye", "coverage", "npx", "pnpm", "yarn", "bunx", "nice",
     "xvfb-run", "time")
)  # fmt: skip
"""Programs that start the one that their arguments name."""


class ReportRequest(Struct, frozen=True, kw_only=True):
    """The words that make a runner write a report, and how the report is read."""

    words: tuple[str, ...]
    format: ReportFormat | None = None
    """None if the runner is not known."""

    file: str = ""
    """Where the report is written; empty if it is what the runner prints."""

    written: str = ""
    """A pattern of the files that the command writes itself, where its check says so and its runner is not known."""

    takes_canary: bool = False
    """Whether it is pytest, which takes a plugin."""


def request_report(
    words: Sequence[str], *, file: str, plugin: str = "", plugin_folder: str = "", written: str = ""
) -> ReportRequest:
    """A check's words with the options for a report in `file`, and for `plugin` where pytest runs.

    `written` is a pattern of the reports that the command writes itself.
    """
    given = tuple(words)
    at = _find_program(given)
    if at is None:
        return ReportRequest(words=given, format="junit" if written else None, written=written)
    match os.path.basename(given[at]):
        case "pytest" | "py.test":
            options = (f"--junit-xml={file}", "--maxfail=0", *(("-p", plugin) if plugin else ()))
            added = _extend_python_path(_append(given, options), at, plugin_folder)
            asked = ReportRequest(words=added, format="junit", file=file, takes_canary=bool(plugin))
        case "unittest":
            is_verbose = any(one in {"-v", "--verbose"} for one in given[at:])
            added = given if is_verbose else (*given[: at + 1], "-v", *given[at + 1 :])
            asked = ReportRequest(words=added, format="unittest")
        case "node":
            flag = given.index("--test", at)
            asked = ReportRequest(
                words=(*given[:flag], *_node_reporters(file), *given[flag:]), format="junit", file=file
            )
        case "jest":
            asked = ReportRequest(words=_append(given, ("--json", f"--outputFile={file}")), format="jest", file=file)
        case "vitest":
            options = ("--reporter=default", "--reporter=json", f"--outputFile.json={file}")
            asked = ReportRequest(words=_append(given, options), format="jest", file=file)
        case "go":
            asked = ReportRequest(words=(*given[: at + 2], "-json", *given[at + 2 :]), format="go")
        case _:
            asked = ReportRequest(words=given, format="cargo")
    return asked


def _node_reporters(file: str) -> tuple[str, ...]:
    """Node prints for people, and writes the report beside that."""
    return (
        "--test-reporter=spec",
        "--test-reporter-destination=stdout",
        "--test-reporter=junit",
        f"--test-reporter-destination={file}",
    )


def _find_program(words: Sequence[str]) -> int | None:
    """The index of the runner among the words."""
    for index, word in enumerate(words):
        name = os.path.basename(word)
        following = words[index + 1 : index + 2]
        if name in {"pytest", "py.test", "jest", "vitest"}:
            return index if _are_launchers(words[:index]) else None
        if name == "unittest" and words[index - 1 : index] == ("-m",):
            return index if _are_launchers(words[:index]) else None
        if name == "node" and "--test" in words[index + 1 :] and not any("--test-reporter" in one for one in words):
            return index if _are_launchers(words[:index]) else None
        if name in {"go", "cargo"} and list(following) == ["test"]:
            return index if _are_launchers(words[:index]) else None
    return None


def _are_launchers(words: Sequence[str]) -> bool:
    """Whether the words before a runner only start it."""
    if not words:
        return True
    first = os.path.basename(words[0])
    if first.startswith("python"):
        return words[-1] == "-m"
    return first in _LAUNCHERS


def _append(words: tuple[str, ...], options: tuple[str, ...]) -> tuple[str, ...]:
    """Options last, so that they win, but before a `--` that ends options."""
    end = words.index("--") if "--" in words else len(words)
    return (*words[:end], *options, *words[end:])


def _extend_python_path(words: tuple[str, ...], end: int, folder: str) -> tuple[str, ...]:
    """`env PYTHONPATH=src pytest` must find the plugin as well."""
    if not folder:
        return words
    key = "PYTHONPATH="
    launch = tuple(f"{one}:{folder}" if one.startswith(key) else one for one in words[:end])
    return (*launch, *words[end:])
