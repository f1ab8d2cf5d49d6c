"""`bn bridge`: the host that debugs programs of the workspace for agents."""

import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from binnacle.cli.command import READS, Group, arg, by_person, changes
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen
from binnacle.errors import UsageError
from binnacle.project.workspace import workspace_of

if TYPE_CHECKING:
    from binnacle.app.editors import InstalledExtension
    from binnacle.bridge.client.bridge_status import BridgeStatus, HostHealth
    from binnacle.project.bridge_host import StoppedHost

BRIDGE = Group("bridge")


def _workspace(context: Context) -> str:

    return workspace_of(context.project, context.start)


def _named(host: "HostHealth") -> str:
    """A host in a few words; an editor by its name, and by its folder if that is not ours."""
    name = host.get("editor") or f"{host['kind']} host"
    return f"{name} in {host['workspace']}" if "workspace" in host else name


def _show_status(answer: "BridgeStatus", screen: Screen) -> None:
    host = answer["host"]
    if "problem" in answer:
        screen.line(f"{screen.styled('✗', 'red')} {answer['problem']}")
    elif host is None:
        screen.line(f"○ no host serves {answer['workspace']}; the first call of a debug tool starts one")
    elif host["healthy"]:
        sign = screen.styled("✓", "green")
        screen.line(f"{sign} {_named(host)}, process {host['pid']}, answers in {host['roundTripMs']} ms")
    else:
        sign = screen.styled("✗", "red")
        screen.line(f"{sign} {_named(host)}, process {host['pid']}: {host['problem']}")
    rows = [
        (
            "✓" if one["found"] else "○",
            str(one["name"]),
            str(one["language"]),
            str(one.get("version", "")),
            str(one.get("path", "")),
        )
        for one in answer["adapters"]
    ]
    screen.table(rows, flexible=4, headings=("", "ADAPTER", "LANGUAGE", "VERSION", "WHERE"))
    for one in answer["adapters"]:
        if not one["found"]:
            screen.line(f"  hint: for {one['language']}: {one['install']}")
    if "unsupported" in answer:
        screen.line(f"not here: {', '.join(answer['unsupported']['tools'])}")
        screen.line(f"  hint: {answer['unsupported']['hint']}")


@BRIDGE.command(
    "status",
    "whether a host answers, and which debug adapters there are",
    "bn bridge status -H",
    view=_show_status,
    needs=READS,
)
def status(context: Context, args: Namespace) -> "BridgeStatus":  # noqa: ARG001 - it has no arguments
    import asyncio

    from binnacle.project.bridge_host import read_status

    answer = asyncio.run(read_status(_workspace(context)))
    if answer["host"] is not None and not answer["host"]["healthy"]:
        context.exit_code = 1
    return answer


def _show_nothing(answer: None, screen: Screen) -> None:
    """It has said all."""


@BRIDGE.command(
    "host",
    "serve the workspace as its debug host, until stopped",
    "bn bridge host --idle 60",
    arg("--idle", type=float, metavar="MIN", help="end after this many minutes without a call; by default never"),
    arg("--workspace", metavar="DIR", help="the directory to serve; by default the repository"),
    view=_show_nothing,
    needs=READS,
)
def host(context: Context, args: Namespace) -> None:
    import asyncio
    import logging

    from binnacle.project.bridge_host import serve_bridge

    if args.idle is not None and args.idle <= 0:
        raise UsageError(f"--idle must be more than 0: {args.idle:g}", hint="leave it out to serve without end")
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    workspace = args.workspace or _workspace(context)
    if context.human:
        Screen(sys.stderr).line(f"serving {workspace} until interrupted")
    asyncio.run(serve_bridge(workspace, idle=args.idle * 60 if args.idle else None))


def _show_stopped(answer: "StoppedHost", screen: Screen) -> None:
    if answer.stopped:
        screen.line(f"{screen.styled('✓', 'green')} the host has ended: process {answer.pid}")
    else:
        screen.line("○ no host is running")


@BRIDGE.command(
    "stop",
    "end the debug host, and with it every program it debugs",
    "bn bridge stop",
    view=_show_stopped,
    needs=changes("bridge_stop"),
)
def stop(context: Context, args: Namespace) -> "StoppedHost":  # noqa: ARG001 - it has no arguments
    import asyncio

    from binnacle.project.bridge_host import stop_host

    return asyncio.run(stop_host(_workspace(context)))


def _show_installed(answer: "InstalledExtension", screen: Screen) -> None:
    screen.line(f"{screen.styled('✓', 'green')} installed in {answer.editor}")
    screen.line("  open the workspace there; the status bar says whether agents may use the window")


@BRIDGE.command(
    "install-vscode",
    "install the extension through which agents use VS Code, or an editor based on it",
    "bn bridge install-vscode --editor codium",
    arg("--editor", metavar="CMD", help="its command; by default the only one on the PATH"),
    view=_show_installed,
    needs=by_person("install an extension"),
)
def install_vscode(context: Context, args: Namespace) -> "InstalledExtension":  # noqa: ARG001 - it needs no project
    from binnacle.app.editors import install_extension

    return install_extension(args.editor)
