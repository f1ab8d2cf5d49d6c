"""A summary of a repository: its languages and its top folders."""

import os
from collections import Counter, deque
from itertools import islice

from msgspec import Struct

MAX_WALKED_ENTRIES = 20_000
"""Files and folders that are read, from the top down. The rest of a huge repository is ignored."""

MAX_SHOWN_ENTRIES = 30
MAX_SHOWN_DEPTH = 2

IGNORED = frozenset(
    (
        *("node_modules", "bower_components", "vendor", "target", "build", "dist", "out", "bin", "obj", "coverage"),
        *("venv", "env", "virtualenv", "site-packages", "__pycache__", "htmlcov", "Pods", "DerivedData", "_build"),
    )
)
"""Folders that tools create. Names that begin with a dot are left out too."""

LANGUAGES = {
    **dict.fromkeys((".py", ".pyi"), "Python"),
    **dict.fromkeys((".ts", ".tsx", ".mts", ".cts"), "TypeScript"),
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs"), "JavaScript"),
    **dict.fromkeys((".c", ".h"), "C"),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hpp", ".hh"), "C++"),
    **dict.fromkeys((".kt", ".kts"), "Kotlin"),
    **dict.fromkeys((".ex", ".exs"), "Elixir"),
    **dict.fromkeys((".sh", ".bash", ".zsh"), "Shell"),
    **dict.fromkeys((".html", ".htm"), "HTML"),
    **dict.fromkeys((".css", ".scss", ".sass", ".less"), "CSS"),
    **dict.fromkeys((".ml", ".mli"), "OCaml"),
    ".rs": "Rust", ".go": "Go", ".java": "Java", ".cs": "C#", ".fs": "F#", ".rb": "Ruby", ".php": "PHP",
    ".swift": "Swift", ".m": "Objective-C", ".scala": "Scala", ".clj": "Clojure", ".erl": "Erlang",
    ".hs": "Haskell", ".lua": "Lua", ".pl": "Perl", ".r": "R", ".jl": "Julia", ".dart": "Dart", ".zig": "Zig",
    ".nim": "Nim", ".sql": "SQL", ".vue": "Vue", ".svelte": "Svelte", ".tf": "Terraform", ".proto": "Protocol Buffers",
}  # fmt: skip


class Codebase(Struct, frozen=True, kw_only=True):
    """What a plan needs to know about a repository."""

    languages: tuple[tuple[str, int], ...] = ()
    """Number of source files by language, the largest first."""

    entries: tuple[str, ...] = ()
    """Folders (with a slash) and files at the top, and folders below them."""

    left_out: int = 0
    """Number of entries that are not shown."""

    is_whole: bool = True
    """Whether everything was read."""


def survey(repo: str, *, limit: int = MAX_WALKED_ENTRIES) -> Codebase:
    """Summarizes a repository from at most `limit` entries. Links are not followed."""
    counts: Counter[str] = Counter()
    shown: list[str] = []
    folders = deque([("", 0)])
    left = limit
    while folders and left >= 0:
        path, depth = folders.popleft()
        entries = _entries(os.path.join(repo, path), left + 1)
        left -= len(entries)
        for name, is_folder in sorted(entries, key=lambda one: (not one[1], one[0])):
            if name.startswith(".") or name in IGNORED:
                continue
            if is_folder:
                folders.append((f"{path}{name}/", depth + 1))
            elif language := LANGUAGES.get(os.path.splitext(name)[1].lower()):
                counts[language] += 1
            if depth < MAX_SHOWN_DEPTH and (is_folder or not depth):
                shown.append(f"{path}{name}/" if is_folder else name)
    return Codebase(
        languages=tuple(sorted(counts.items(), key=lambda one: (-one[1], one[0]))),
        entries=tuple(sorted(shown[:MAX_SHOWN_ENTRIES])),
        left_out=max(0, len(shown) - MAX_SHOWN_ENTRIES),
        is_whole=left >= 0,
    )


def _entries(folder: str, limit: int) -> list[tuple[str, bool]]:
    """The names in a folder, and whether each is a folder; nothing if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in islice(entries, limit)]
    except OSError:
        return []
