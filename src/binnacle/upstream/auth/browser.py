"""Opens a page in the person's browser, if there is one."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Mapping

from binnacle.config.child_environment import for_person


def is_there(environ: Mapping[str, str] | None = None) -> bool:
    """Whether a browser can show a page here. A browser in the terminal does not count: we need the terminal."""
    environ = os.environ if environ is None else environ
    if sys.platform == "darwin" or environ.get("BROWSER"):
        return not environ.get("SSH_CONNECTION") or bool(environ.get("BROWSER"))
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


@contextlib.asynccontextmanager
async def open_in_browser(url: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Opens a page by a program, which is yielded. Leaving the block ends that program, not the browser."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "webbrowser",
        url,
        env=for_person(os.environ),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        await process.wait()
