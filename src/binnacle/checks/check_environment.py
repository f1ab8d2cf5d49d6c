"""What a check runs in: the variables that it gets, and a hash by which two environments are told apart."""

import os
import platform
import shutil
import sys
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from binnacle.checks.clean_checkout import CheckRoom
from binnacle.config.child_environment import for_check


class CheckEnvironment(Struct, frozen=True, kw_only=True):
    """The environment of a check, before it has folders of its own."""

    variables: Mapping[str, str]
    hash: str
    summary: str
    """For people: the system, and the programs that it starts with."""

    def variables_in(self, room: CheckRoom) -> dict[str, str]:
        """The variables in a room, with its own home and its own folder for temporary files."""
        return {
            **self.variables,
            "HOME": room.home,
            "TMPDIR": room.temporary,
            "GIT_CEILING_DIRECTORIES": os.path.dirname(room.tree),
            # With links, code under test that writes into its environment would write into the person's cache.
            "UV_LINK_MODE": "copy",
        }


def describe_environment(environ: Mapping[str, str], programs: Sequence[str]) -> CheckEnvironment:
    """The environment in which `programs` are started."""
    from hashlib import sha256

    variables = for_check(environ)
    found = {name: _identify(name, variables.get("PATH", os.defpath)) for name in dict.fromkeys(programs)}
    system = f"{platform.system()} {platform.machine()}"
    parts = (sorted(variables.items()), sorted(found.items()), system, platform.release())
    names = ", ".join(name for name, _ in sorted(found.items()))
    return CheckEnvironment(
        variables=variables,
        hash=sha256(msgspec.json.encode(parts)).hexdigest(),
        summary=f"{system}, {names}" if names else system,
    )


def _identify(name: str, path: str) -> str:
    """A program, so that another version of it counts as another: its file, that file's size and its time."""
    found = shutil.which(name, path=path) if "/" not in name else None
    if found is None:
        return "in the checkout" if "/" in name else "missing"
    file = os.path.realpath(found)
    about = os.stat(file)
    return f"{file} {about.st_size} {about.st_mtime_ns}"


def machine_name() -> str:
    """The name of this machine."""
    return platform.node() or sys.platform
