"""What a repository looks like from a distance: its languages and its upper folders."""

import os
from collections import Counter, deque
from itertools import islice

from msgspec import Struct

WALK_LIMIT = 20_000
"""Files and folders looked at. A huge repository is described by what comes first, from the top down."""

ENTRY_LIMIT = 30
FOLDER_DEPTH = 2

IGNORED = frozenset(
    (
        *("node_modules", "bower_components", "vendor", "target", "build", "dist", "out", "bin", "obj", "coverage"),
        *("venv", "env", "virtualenv", "site-packages", "__pycache__", "htmlcov", "Pods", "DerivedData", "_build"),
    )
)
"""What tools put there. Names that begin with a dot are left out too."""

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
    """A repository, as far as a plan needs to know it."""

    languages: tuple[tuple[str, int], ...] = ()
    """Source files by language, the most first."""

    entries: tuple[str, ...] = ()
    """Folders (with a slash) and files at the top, and folders below them."""

    left_out: int = 0
    """Entries there was no room for."""

    is_whole: bool = True
    """Whether everything was looked at."""


def survey(repo: str, *, limit: int = WALK_LIMIT) -> Codebase:
    """Looks a repository over: never more than `limit` entries, whatever its size. Links are not followed."""
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
            if depth < FOLDER_DEPTH and (is_folder or not depth):
                shown.append(f"{path}{name}/" if is_folder else name)
    return Codebase(
        languages=tuple(sorted(counts.items(), key=lambda one: (-one[1], one[0]))),
        entries=tuple(sorted(shown[:ENTRY_LIMIT])),
        left_out=max(0, len(shown) - ENTRY_LIMIT),
        is_whole=left >= 0,
    )


def _entries(folder: str, limit: int) -> list[tuple[str, bool]]:
    """What is in a folder, and whether it is one; nothing if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in islice(entries, limit)]
    except OSError:
        return []
