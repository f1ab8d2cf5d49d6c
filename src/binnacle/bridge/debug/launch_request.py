"""Turns the parameters of a call into the configuration of an adapter."""

import os
import shlex
import shutil
from typing import Any

from msgspec import Struct

from binnacle.bridge.debug import adapters
from binnacle.bridge.debug.adapters import Adapter, FoundAdapter
from binnacle.bridge.debug.debug_errors import debug_error, script_unsupported
from binnacle.bridge.debug.launch_json import configuration_names, find_configuration
from binnacle.bridge.debug.pytest_stops import is_pytest, load_plugin, plugin_notes
from binnacle.config.child_environment import for_person
from binnacle.errors import did_you_mean


class StartParams(Struct, kw_only=True, rename="camel"):
    """Parameters of `debug.start`. One of the first six says what to debug."""

    launch: str | dict[str, Any] | None = None
    """A name in `.vscode/launch.json`, a configuration as in that file, or a program's file."""

    program: str | None = None
    module: str | None = None
    pytest: str | list[str] | None = None
    """Tests as pytest names them: `tests/test_cart.py::test_total`."""

    port: int | None = None
    """Attach to a Python program that listens there."""

    pid: int | None = None
    """Attach to a Python program that runs."""

    host: str = "127.0.0.1"
    args: list[str] | None = None
    cwd: str | None = None
    env: dict[str, str] | None = None
    python: str | None = None
    file: str | None = None
    """The value of `${file}` in a configuration."""

    folder: str | None = None
    stop_on_entry: bool | None = None
    just_my_code: bool | None = None
    timeout_ms: float = 30_000
    wait: bool = True


class DebugLaunch(Struct, frozen=True, kw_only=True):
    """Something to debug, ready for its adapter."""

    title: str
    adapter: FoundAdapter
    request: str
    configuration: dict[str, Any]
    cwd: str
    """Where the adapter runs."""

    address: tuple[str, int] | None = None
    """The address of an adapter that the program itself has started."""

    python: str | None = None
    """The Python that runs the program."""

    advice: str = ""
    """What to do if it fails."""

    is_silent_on_success: bool = False
    """Whether the adapter reports every exit code except 0."""

    notes: tuple[str, ...] = ()
    """Notes on what the configuration says and is not done."""

    @property
    def is_attach(self) -> bool:
        return self.request == "attach"


PROGRAM_PARAMETERS = ("launch", "program", "module", "pytest", "port", "pid")


def prepare_launch(start: StartParams, workspace: str) -> DebugLaunch:
    """Checks everything that can be checked before a process is started.

    Raises:
        BridgeError: says which parameter is wrong.
    """
    folder = _folder(start.folder, workspace)
    given = [name for name in PROGRAM_PARAMETERS if getattr(start, name) is not None]
    if len(given) != 1:
        names = configuration_names(folder)
        raise debug_error(
            "E_INVALID_PARAMS" if given else "E_MISSING_REQUIRED_PARAM",
            f"give one of {', '.join(PROGRAM_PARAMETERS)}; given: {', '.join(given) or 'none'}",
            "call debug_start with program, the path of a file" + (f", or launch, one of: {names}" if names else ""),
        )
    configuration = _configuration(start, folder)
    cwd = _cwd(configuration, folder)
    if configuration.get("program"):
        configuration["program"] = _program(str(configuration["program"]), cwd, folder)
    adapter = _adapter(configuration)
    found = adapters.find_adapter(adapter, folder)
    if found is None:
        raise debug_error(
            "E_UNSUPPORTED",
            f"no debug adapter for {adapter.language} on this machine: {adapter.id}",
            f"{adapter.install}; then call debug_start again",
            adapter=adapter.id,
        )
    return _launch(configuration, adapter, found, cwd)


def _folder(folder: str | None, workspace: str) -> str:
    path = os.path.normpath(os.path.join(workspace, folder or ""))
    if not os.path.isdir(path):
        raise debug_error("E_INVALID_PATH", f"no such directory: {path}", "give folder relative to the workspace")
    return path


def _configuration(start: StartParams, folder: str) -> dict[str, Any]:
    """A configuration as in `launch.json`."""
    configuration = _base(start, folder)
    overrides: dict[str, Any] = {
        "args": start.args,
        "cwd": start.cwd,
        "python": start.python,
        "stopOnEntry": start.stop_on_entry,
        "justMyCode": start.just_my_code,
    }
    if start.pytest is not None:
        overrides["args"] = [*configuration["args"], *(start.args or ())]
    configuration |= {name: value for name, value in overrides.items() if value is not None}
    if start.env:
        configuration["env"] = {**(configuration.get("env") or {}), **start.env}
    return configuration


def _base(start: StartParams, folder: str) -> dict[str, Any]:
    """The configuration from the parameter that names the program."""
    python = {"type": "debugpy", "request": "launch"}
    match start:
        case StartParams(program=str(program)):
            return {"request": "launch", "program": program}
        case StartParams(module=str(module)):
            return python | {"module": module}
        case StartParams(pytest=str() | list() as tests):
            return python | {"module": "pytest", "args": _tests(tests, start.cwd, folder)}
        case StartParams(port=int(port)):
            return python | {"request": "attach", "connect": {"host": start.host, "port": port}}
        case StartParams(pid=int(pid)):
            return python | {"request": "attach", "processId": pid}
    return _find_named(start, folder)


def _find_named(start: StartParams, folder: str) -> dict[str, Any]:
    if isinstance(start.launch, dict):
        return dict(start.launch)
    assert start.launch is not None
    if start.launch not in configuration_names(folder) and os.path.isfile(os.path.join(folder, start.launch)):
        return {"request": "launch", "program": start.launch}
    file = os.path.join(folder, start.file) if start.file else None
    return find_configuration(folder, start.launch, file=file)


def _tests(wanted: str | list[str], cwd: str | None, folder: str) -> list[str]:
    names = [wanted] if isinstance(wanted, str) else wanted
    for name in names:
        path = os.path.join(folder, cwd or "", name.partition("::")[0])
        if not os.path.exists(path):
            raise debug_error("E_FILE_NOT_FOUND", f"no such test file: {path}", "give pytest relative to the workspace")
    return list(names)


def _cwd(configuration: dict[str, Any], folder: str) -> str:
    path = os.path.normpath(os.path.join(folder, str(configuration.get("cwd") or "")))
    if not os.path.isdir(path):
        raise debug_error("E_INVALID_PATH", f"no such directory to run in: {path}", "give another cwd to debug_start")
    return path


def _program(program: str, cwd: str, folder: str) -> str:
    """The program's absolute path, checked before an adapter starts."""
    places = [os.path.normpath(os.path.join(one, program)) for one in (folder, cwd)]
    if found := next((path for path in places if os.path.exists(path)), None):
        return found
    raise debug_error(
        "E_FILE_NOT_FOUND",
        f"no such program: {program!r} (looked for {places[0]})",
        "give program relative to the workspace, or as an absolute path",
        original=program,
        resolved=places[0],
    )


def _adapter(configuration: dict[str, Any]) -> Adapter:
    kind, program = configuration.get("type"), configuration.get("program")
    if kind is not None:
        found = adapters.adapter_for_type(str(kind))
        known = [name for one in adapters.ADAPTERS for name in one.types]
        reason = f"no adapter here is of type {kind!r}; {did_you_mean(str(kind), known)}"
    elif program:
        found = adapters.adapter_for_file(str(program))
        reason = f"no adapter here debugs files like {program}"
    else:
        return adapters.PYTHON
    if found is None:
        raise script_unsupported("debug.start", reason)
    return found


def _launch(configuration: dict[str, Any], adapter: Adapter, found: FoundAdapter, cwd: str) -> DebugLaunch:
    request = str(configuration.get("request") or "launch")
    if request not in ("launch", "attach"):
        raise debug_error("E_INVALID_PARAMS", f"no such request: {request!r}", "one of: launch, attach")
    full = configuration | {"cwd": cwd, "args": _words(configuration.get("args")), "env": _env(configuration, cwd)}
    full["name"] = title = str(configuration.get("name") or _title(configuration))
    notes = tuple(
        f"{name} was not run: only an editor has tasks"
        for name in ("preLaunchTask", "postDebugTask")
        if full.pop(name, None)
    )
    address = None
    advice = ""
    folder = cwd
    is_silent = False
    match adapter.id:
        case "debugpy":
            full = _for_python(full, request)
            # The program's own Python may be a wrapper that does not start; this one does.
            full["debugLauncherPython"] = found.argv[0]
            notes += plugin_notes(full, request)
            if request == "attach" and (connect := full.get("connect")):
                address = (str(connect.get("host") or "127.0.0.1"), int(connect.get("port") or 0))
                advice = f"start the program with: python -m debugpy --listen {address[1]} --wait-for-client FILE"
        case "js-debug":
            full = {"skipFiles": ["<node_internals>/**"]} | full | {"type": "pwa-node", "console": "internalConsole"}
            is_silent = request == "launch" and not full.keys() & {"runtimeExecutable", "runtimeVersion"}
            if request == "attach":
                full = {"address": "127.0.0.1"} | full
            if is_silent:
                full |= {"runtimeExecutable": "/bin/sh", "runtimeArgs": _in_shell(_words(full.get("runtimeArgs")))}
        case "lldb-dap":
            # Without a summary, a structure is shown as its address.
            full = {"enableAutoVariableSummaries": True} | full
            full["env"] = [f"{name}={value}" for name, value in full["env"].items()]
        case "delve":
            full, folder = _for_go(full, request)
    return DebugLaunch(
        title=title,
        adapter=found,
        request=request,
        configuration=full,
        cwd=folder,
        address=address,
        python=full["python"][0] if adapter is adapters.PYTHON and request == "launch" else None,
        advice=advice,
        is_silent_on_success=is_silent,
        notes=notes,
    )


def _for_python(full: dict[str, Any], request: str) -> dict[str, Any]:
    """The configuration with debugpy's options: no terminal, and no module names in frames."""
    quiet = {"special": "hide", "function": "hide", "class": "hide", "protected": "inline"}
    common = {"justMyCode": True, "subProcess": True, "showReturnValue": True, "variablePresentation": quiet}
    if request == "attach":
        if "port" in full and "connect" not in full:
            full["connect"] = {"host": full.pop("host", None), "port": full.pop("port")}
        _check_process(full.get("processId"))
        return common | {name: one for name, one in full.items() if name not in ("args", "env", "cwd")}
    python = full.pop("python", None) or full.pop("pythonPath", None) or adapters.find_python(full["cwd"])
    words = _words(python)
    if "/" in words[0]:
        words[0] = os.path.join(full["cwd"], words[0])
    if shutil.which(words[0]) is None:
        raise debug_error("E_FILE_NOT_FOUND", f"no such Python: {words[0]}", "give the path of another with python")
    fixed = {"python": words, "console": "internalConsole", "redirectOutput": True}
    return load_plugin(common | full | fixed, for_person(os.environ))


def _for_go(full: dict[str, Any], request: str) -> tuple[dict[str, Any], str]:
    """The configuration with delve's options. It builds in the package's folder, so that Go finds the module."""
    program = str(full.get("program") or "")
    if request == "attach" or not program:
        return {"mode": "local"} | full, full["cwd"]
    folder = program if os.path.isdir(program) else os.path.dirname(program)
    if program.endswith("_test.go"):
        return {"mode": "test"} | full | {"program": folder}, folder
    return {"mode": "debug"} | full, folder


def _in_shell(words: list[str]) -> list[str]:
    """Runs Node in a shell, whose exit code includes signals; js-debug reports neither signals nor 0."""
    return ["-c", 'node "$@"; exit $?', "node", *words]


def _check_process(pid: Any) -> None:
    """Checks that a process exists: injecting the debugger would take a minute to fail."""
    if pid is None:
        return
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, ValueError, OverflowError):
        raise debug_error("E_NOT_FOUND", f"no process has the id {pid}", "give the id of a Python process") from None
    except PermissionError:
        raise debug_error("E_PERMISSION_DENIED", f"process {pid} is somebody else's", "give one of your own") from None


def _title(configuration: dict[str, Any]) -> str:
    if is_pytest(configuration):
        return " ".join(["pytest", *_words(configuration.get("args"))])
    for name in ("program", "module"):
        if configuration.get(name):
            return os.path.basename(str(configuration[name]))
    if "processId" in configuration:
        return f"process {configuration['processId']}"
    connect = configuration.get("connect") or configuration
    return f"port {connect.get('port')}" if isinstance(connect, dict) and "port" in connect else "a program"


def _words(value: Any) -> list[str]:
    if value is None:
        return []
    return shlex.split(value) if isinstance(value, str) and " " in value else _as_list(value)


def _as_list(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]


def _env(configuration: dict[str, Any], cwd: str) -> dict[str, str]:
    """Variables of the configuration and of the file it names."""
    found: dict[str, str] = {}
    if file := configuration.pop("envFile", None):
        try:
            with open(os.path.join(cwd, str(file)), encoding="utf-8") as lines:
                found = dict(_assignment(line) for line in lines if "=" in line and not line.lstrip().startswith("#"))
        except OSError as error:
            raise debug_error(
                "E_FILE_NOT_FOUND", f"cannot read envFile: {file}: {error.strerror}", "fix envFile"
            ) from error
    return found | {str(name): str(one) for name, one in (configuration.get("env") or {}).items() if one is not None}


def _assignment(line: str) -> tuple[str, str]:
    name, _, value = line.strip().removeprefix("export ").partition("=")
    value = value.strip()
    is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return name.strip(), value[1:-1] if is_quoted else value
