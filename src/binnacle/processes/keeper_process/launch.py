"""Starts a program: forks, and turns the fork into it."""

import os

from binnacle.processes.linux import die_with_parent

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import NoReturn
else:
    import _signal as signal

MAX_MESSAGE_BYTES = 2000
"""Bytes that a pipe takes at once."""


class LaunchRequest:
    """What to start, in bytes, as the system has them."""

    __slots__ = ("argv", "cwd", "descriptors", "env")

    def __init__(self, argv: tuple[bytes, ...], env: dict[bytes, bytes], cwd: bytes, descriptors: list[int]) -> None:
        self.argv = argv
        self.env = env
        self.cwd = cwd
        self.descriptors = descriptors
        """For stdin, stdout and stderr."""


def launch(request: LaunchRequest) -> tuple[int, int]:
    """The process id of the new program, and a pipe with the reason why it fails, or which closes when it runs."""
    report, writer = os.pipe()
    keeper = os.getpid()
    # A signal to the fork must not reach the handlers that it inherits.
    signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())
    try:
        pid = os.fork()
        if pid == 0:
            _become(request, writer, keeper)
    except OSError:
        os.close(report)
        raise
    finally:
        os.close(writer)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
    return pid, report


def _become(request: LaunchRequest, report: int, keeper: int) -> "NoReturn":
    try:
        os.setsid()
        die_with_parent(signal.SIGTERM)
        if os.getppid() == keeper:
            _reset_signals()
            for number, descriptor in enumerate(request.descriptors):
                os.dup2(descriptor, number)
            problem = _enter(request.cwd) or _execute(request)
            os.write(report, problem[:MAX_MESSAGE_BYTES])
    except BaseException as error:  # noqa: BLE001 - the end of this process: whatever it is, the caller is to read it
        os.write(report, f"cannot start a process: {error}".encode("utf-8", "replace")[:MAX_MESSAGE_BYTES])
    finally:
        os._exit(127)


def _reset_signals() -> None:
    """Restores the signal handling of a new process."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        try:
            signal.signal(number, signal.SIG_DFL)
        except (OSError, ValueError):
            pass  # the two that cannot be changed, and those that the C library reserves
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _enter(cwd: bytes) -> bytes:
    """Changes the directory. Returns why that failed, if it did."""
    try:
        os.chdir(cwd)
    except FileNotFoundError:
        return b"no such directory: " + cwd
    except NotADirectoryError:
        return b"not a directory: " + cwd
    except PermissionError:
        return b"permission denied: " + cwd
    except OSError as error:
        return _other(b"cannot enter " + cwd, error)
    return b""


def _execute(request: LaunchRequest) -> bytes:
    """Becomes the program. Returns only on failure, with the reason."""
    command = request.argv[0]
    problem = b"no such command: " + command
    for file in _candidates(command, request.env):
        try:
            os.execve(file, request.argv, request.env)  # noqa: S606 - there is no shell, by design
        except (FileNotFoundError, NotADirectoryError):
            if os.path.exists(file):
                problem = b"the interpreter that it names is missing: " + command
        except PermissionError:
            # Another file of that name may follow in the path, as for a shell.
            problem = b"permission denied: " + command
        except (OSError, ValueError) as error:
            return _other(b"cannot run " + command, error)
    return problem


def _candidates(command: bytes, env: dict[bytes, bytes]) -> list[bytes]:
    """Paths at which a command may be. Like `os.execvpe`, which would load a module in every fork."""
    if b"/" in command:
        return [command]
    return [os.path.join(folder, command) for folder in env.get(b"PATH", os.fsencode(os.defpath)).split(b":")]


def _other(what: bytes, error: Exception) -> bytes:
    return what + f": {getattr(error, 'strerror', None) or error}".encode("utf-8", "replace")
