# ruff: noqa: INP001 - a plugin of somebody else's pytest, and no part of a package
"""A pytest plugin that makes debugpy stop where a test fails.

debugpy cannot tell a failing test from an expected exception: pytest catches both. pytest can, and calls a plugin for
what it reports. The stop then shows the traceback: its frames have ended, but they and their variables can still be
inspected.

pytest loads it in the program that is debugged. So it imports nothing of this package, runs on every Python that
debugpy runs on, and is found through `PYTHONPATH`, which it restores for the tests and what they start.
"""

import os
import sys
import threading
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))


def restore_path() -> None:
    """Removes this folder from `PYTHONPATH`."""
    left = [one for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one != HERE]
    if any(left):
        os.environ["PYTHONPATH"] = os.pathsep.join(left)
    else:
        os.environ.pop("PYTHONPATH", None)


def pytest_exception_interact(call: Any) -> None:
    """Stops at an exception that pytest reports: not at one that was caught, expected, or skips a test."""
    pydevd: Any = sys.modules.get("pydevd")
    debugger = pydevd and pydevd.get_global_debugger()
    if debugger is None:
        return
    raised = call.excinfo
    thread = threading.current_thread()
    info = debugger.set_additional_thread_info(thread)
    # A thread that waits for the client would stop again, in the code that waits.
    debugger.disable_tracing()
    try:
        # Does nothing if the client wants no stop at uncaught exceptions, or if no frame is the user's.
        pydevd.stop_on_unhandled_exception(debugger, thread, info, (raised.type, raised.value, raised.tb))
    finally:
        debugger.enable_tracing()


restore_path()
