"""Entry point of `bn`: finds the command, runs it, prints the answer or the error."""

import errno
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from binnacle import __version__
from binnacle.errors import BinnacleError, NoProject, StoreFull, UsageError

if TYPE_CHECKING:
    from argparse import Namespace

    from binnacle.cli.command import Command

EXIT_ERROR, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130

SESSION_VARIABLES = ("BN_SESSION", "BN_MCP_SESSION")
"""Set for commands in the shell of a planned session, and for those that are passed through."""


def run() -> NoReturn:
    """Runs the command line and exits."""
    _open_closed_streams()
    code = main(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_stdout()
    except OSError as error:
        _discard_stdout()
        _report(_explain(error), sys.argv[1:])
        code = EXIT_ERROR
    _exit(code)


def _exit(code: int) -> NoReturn:
    """Ends the process, at once where that is safe: taking the interpreter apart takes nearly as long as starting it.

    Everything was closed where it was opened. Without threads and exit handlers nobody is left to be waited for.
    """
    if sys.modules.keys().isdisjoint(("atexit", "threading")):
        with suppress(OSError):
            sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _open_closed_streams() -> None:
    """Opens /dev/null for a closed stream (`bn ready >&-`), where Python has None."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - it lives as long as we do


def main(argv: list[str]) -> int:
    """Runs one command line and returns its exit code. Answers go to stdout, everything else to stderr."""
    try:
        return _dispatch(argv)
    except BinnacleError as error:
        _report(error, argv)
        return EXIT_USAGE if isinstance(error, UsageError) else EXIT_ERROR
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _discard_stdout()
        return 0
    except Exception as error:
        if os.environ.get("BN_DEBUG"):
            raise
        _report(_explain(error), argv)
        return EXIT_ERROR


def _explain(error: Exception) -> BinnacleError:
    """An unexpected error; a full disk and a deleted folder are not defects of ours."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull(f"no space left: {error}", hint="free some space, then try again")
    if isinstance(error, FileNotFoundError) and _is_adrift():
        return NoProject("the current directory was deleted", hint="go to an existing one, or name one: bn -C DIR")
    return BinnacleError(
        f"unexpected {type(error).__name__}: {error}", hint="this is a defect in bn; BN_DEBUG=1 shows where it happened"
    )


def _is_adrift() -> bool:
    """Whether the directory that this runs in has been deleted."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _dispatch(argv: list[str]) -> int:
    options, words = _split_globals(argv)
    if words[:1] == ["help"]:
        options["--help"], words = "yes", words[1:]
    if "--version" in options:
        print(f"bn {__version__}")
        return 0
    if "--help" in options and not words:
        from binnacle.cli.help import show_overview

        show_overview()
        return 0
    return _run(options, words or ["status"])


def _split_globals(argv: list[str]) -> tuple[dict[str, str], list[str]]:
    """Separates the options before the command from the command and what follows it."""
    options: dict[str, str] = {}
    rest = list(argv)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        name, has_value, value = option.partition("=")
        if option in ("-H", "--human", "--json"):
            options["asked"] = option
        elif option in ("-h", "--help"):
            options["--help"] = "yes"
        elif option in ("--version", "-V"):
            options["--version"] = "yes"
        elif name in ("-C", "--repo"):
            if not has_value and not rest:
                raise UsageError(f"{name} needs a directory", hint="bn -C path/to/repository ready")
            options["--repo"] = value if has_value else rest.pop(0)
        else:
            raise UsageError(f"unknown option {option!r}", hint="options of a command come after it; see bn --help")
    return options, rest


def _load_msgspec() -> None:
    """Loads msgspec without typing_extensions, which it looks for, can do without, and which costs a third of it.

    Goes when msgspec no longer asks for it on a Python that has all it wants of it.
    """
    if "msgspec" not in sys.modules and "typing_extensions" not in sys.modules:
        hidden: dict[str, Any] = sys.modules
        hidden["typing_extensions"] = None  # so an import of it fails
        try:
            import msgspec  # noqa: F401
        finally:
            del sys.modules["typing_extensions"]


def _run(options: dict[str, str], words: list[str]) -> int:
    _load_msgspec()
    from binnacle.cli.context import Context
    from binnacle.cli.output import find_asked
    from binnacle.cli.parser import parse

    command, args = parse(words, as_help="--help" in options)
    if command is None:
        return 0
    asked = args.asked or find_asked([options.get("asked", "")])
    context = Context(repo=args.repo or options.get("--repo"), asked=asked)
    try:
        if _is_checked(command, args):
            from binnacle.cli.permission_check import authorise

            authorise(context, command, args)
        answer = command.run(context, args)
        if answer is not None:
            _print(command, answer, human=context.human)
    finally:
        context.close()
    return context.exit_code


def _is_checked(command: "Command", args: "Namespace") -> bool:
    """Whether we must find out who runs a command.

    Reading needs no check unless the caller names a session, so that it costs people nothing. An agent could read the
    files of the store anyway.
    """
    needs = command.needs_of(args)
    return not needs.is_reading or any(os.environ.get(name) for name in SESSION_VARIABLES)


def _print(command: "Command", answer: Any, *, human: bool) -> None:
    if human:
        from binnacle.cli.screen import Screen

        command.view(answer, Screen())
        return
    import msgspec

    encoded = _encode(answer)
    if sys.stdout.isatty():
        from binnacle.cli.escaping import escape_for_terminal

        encoded = escape_for_terminal(msgspec.json.format(encoded, indent=2))
    sys.stdout.buffer.write(encoded + b"\n")


def _report(error: BinnacleError, argv: list[str]) -> None:
    from binnacle.cli.output import find_asked, is_for_person

    if is_for_person(find_asked(argv), sys.stderr):
        from binnacle.cli.screen import Screen

        screen = Screen(sys.stderr)
        screen.line(f"{screen.styled('error:', 'red')} {error.message}")
        if error.hint:
            screen.line(f"{screen.styled('hint:', 'cyan')} {error.hint}")
        return
    from binnacle.cli.escaping import escape_for_terminal

    sys.stderr.write(escape_for_terminal(_encode({"error": error.to_dict()})).decode("utf-8", "replace") + "\n")


def _encode(answer: Any) -> bytes:
    import msgspec

    try:
        return msgspec.json.encode(answer)
    except UnicodeEncodeError:  # a path may have any byte in it
        from binnacle.cli.escaping import encode_escaped

        return encode_escaped(answer)


def _discard_stdout() -> None:
    """The reader is gone: keeps Python from complaining about it when it flushes at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
