"""Finds an editor that has a parent folder open, if no host serves the folder itself."""

import os

from binnacle.bridge.jobs import job_files
from binnacle.bridge.jobs.protocol import BridgeError, HostInfo


def find_window(directory: str) -> HostInfo | None:
    """The one editor that has a folder open around `directory`.

    A linked worktree counts as a separate folder: the window of the main one does not serve it.

    Raises:
        BridgeError: E_AMBIGUOUS_HOST: there are several, and only a person can choose.
    """
    if os.path.isfile(os.path.join(directory, ".git")):
        return None
    found = [window for parent in _parents(directory) if (window := _window(parent)) is not None]
    if len(found) > 1:
        named = " and ".join(f"process {one.pid} in {one.workspace}" for one in found)
        raise BridgeError(
            "E_AMBIGUOUS_HOST",
            f"several editors have {directory} open: {named}",
            hint=f"open {directory} itself in one of them, or close the others",
            details={"hosts": [{"pid": one.pid, "workspace": one.workspace} for one in found]},
        )
    return found[0] if found else None


def _parents(directory: str) -> list[str]:
    found = []
    while (parent := os.path.dirname(directory)) != directory:
        found.append(parent)
        directory = parent
    return found


def _window(folder: str) -> HostInfo | None:
    """The editor that serves a folder, if it has a proof."""
    try:
        if os.stat(job_files.bridge_folder(folder)).st_uid != os.getuid():
            return None
    except OSError:
        return None
    host = job_files.read_host(folder)
    if host is None or host.kind != "vscode" or host.workspace != folder:
        return None
    return host if host.is_near and host.is_alive() else None
