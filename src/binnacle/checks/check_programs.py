"""Which files of the repository decide what the command of a check runs: its script, its makefile.

A change of such a file is judged as a change of tests is: the check is run once more with the base's own.
"""

import os
import re
from collections.abc import Collection, Iterator, Sequence

from binnacle.work.check import Check

_INTERPRETERS = frozenset(
    ("sh", "bash", "dash", "zsh", "ksh", "fish", "node", "deno", "bun", "ruby", "perl", "php", "pwsh", "source", ".",
     "env", "exec", "nice", "time", "xvfb-run", "run", "uv", "uvx", "poetry", "pdm", "hatch", "pipenv")
)  # fmt: skip
"""Programs whose first argument is what they run. Python counts, too, whatever its version."""

_READ_BY = {
    "make": ("Makefile", "makefile", "GNUmakefile"),
    "gmake": ("Makefile", "makefile", "GNUmakefile"),
    "just": ("justfile", "Justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    "rake": ("Rakefile", "rakefile", "Rakefile.rb"),
    "npm": ("package.json", ".npmrc"),
    "pnpm": ("package.json", ".npmrc"),
    "yarn": ("package.json", ".yarnrc", ".yarnrc.yml"),
    "bun": ("package.json", "bunfig.toml"),
    "composer": ("composer.json",),
}
"""Programs that take what they run from a file of this name."""

_MAKERS = ("make", "gmake")
"""Programs that do nothing for a target that is there as a file."""

_PARTS = re.compile(r"&&|\|\||[;|&\n]|[^\s'\"`;|&<>()]+")
_ENDS = frozenset(("&&", "||", ";", "|", "&", "\n"))


def is_run_by(check: Check, path: str) -> bool:
    """Whether a file of the repository decides what a check runs, because its command names it or reads it."""
    named, read = _find_programs((*check.words, "\n", *check.setup))
    is_included = path.endswith(".mk") and "Makefile" in read
    return path in named or os.path.basename(path) in read or is_included


def _find_programs(words: Sequence[str]) -> tuple[Collection[str], Collection[str]]:
    """The paths that a command runs, and the names of files that its programs read."""
    named: set[str] = set()
    read: set[str] = set()
    for program in _list_programs(words):
        named.add(os.path.normpath(program))
        read.update(_READ_BY.get(os.path.basename(program), ()))
    return named, read


def _list_programs(words: Sequence[str]) -> Iterator[str]:
    """Every word in the place of a program, also in the command that a shell gets as one word."""
    is_program, is_target, before = True, False, ""
    for part in (part for word in words for part in _PARTS.findall(word)):
        if part in _ENDS:
            is_program, is_target = True, False
        elif before == "-m":
            yield from (f"{part.replace('.', '/')}{end}" for end in ("", ".py", "/__main__.py"))
            is_program = False
        elif part.startswith("./"):
            yield part
        elif is_program and not part.startswith("-") and "=" not in part:
            yield part
            name = os.path.basename(part)
            is_program = name in _INTERPRETERS or name.startswith("python")
            is_target = name in _MAKERS
        elif is_target and not part.startswith("-"):
            yield part
        before = part
