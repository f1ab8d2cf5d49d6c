"""Editors of the VS Code family on this machine, and our extension in them."""

import os
import shutil
import subprocess

from msgspec import Struct

import binnacle.bridge
from binnacle.errors import NotFound, Refused, UsageError

COMMANDS = ("code", "code-insiders", "codium", "cursor", "windsurf", "positron", "code-server", "openvscode-server")
"""Their commands on the PATH."""

EXTENSION = os.path.join(os.path.dirname(binnacle.bridge.__file__), "binnacle.vsix")
"""Built by `make vsix` before a release; a checkout has none at first."""

INSTALL_TIMEOUT_SECONDS = 120
"""Seconds for an editor to install an extension. It takes two."""


class InstalledExtension(Struct, frozen=True, kw_only=True):
    """The editor that has our extension now."""

    installed: bool = True
    editor: str
    extension: str


def install_extension(editor: str | None) -> InstalledExtension:
    """Installs our extension in the named editor, or in the only one on the PATH.

    Raises:
        NotFound: there is no such editor, or no extension was built.
        UsageError: there are several.
        Refused: the editor did not install it.
    """
    command = _find(editor)
    if not os.path.isfile(EXTENSION):
        raise NotFound(
            "this copy of binnacle was installed without its extension for VS Code",
            hint="build it in a checkout with: make vsix (it needs npm); then call this again",
        )
    words = [command, "--install-extension", EXTENSION, "--force"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=INSTALL_TIMEOUT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Refused(f"{command} cannot be run: {error}", hint=f"run it by hand: {' '.join(words)}") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip()[-1000:]
        raise Refused(
            f"{command} did not install the extension, exit code {done.returncode}: {said}",
            hint=f"run it by hand: {' '.join(words)}",
        )
    return InstalledExtension(editor=command, extension=EXTENSION)


def _find(editor: str | None) -> str:
    if editor is not None:
        if found := shutil.which(editor):
            return found
        raise NotFound(f"no such editor: {editor!r}", hint="give --editor a command on the PATH, or its path")
    found_all = [path for name in COMMANDS if (path := shutil.which(name))]
    if len(found_all) > 1:
        raise UsageError(
            f"several editors are here: {', '.join(found_all)}",
            hint=f"name one: bn bridge install-vscode --editor {os.path.basename(found_all[0])}",
        )
    if found_all:
        return found_all[0]
    raise NotFound(
        f"no editor is on the PATH: {', '.join(COMMANDS)}",
        hint="in VS Code call 'Shell Command: Install code command in PATH', or name its command with --editor",
    )
