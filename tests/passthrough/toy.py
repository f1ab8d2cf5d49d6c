"""A command with bad habits, for tests: `toy.py HABIT WORD…`, or its `main` in a fork."""

import atexit
import ctypes
import json
import os
import random
import signal
import sys
import threading
import time

FOREVER = 3600
"""Seconds. Whoever sleeps this long is to be ended by the test."""


def main(args):
    habit, *words = args
    return globals()[f"do_{habit}"](*words)


def say(*words):
    """Says it at once, so that a test can wait for it."""
    print(*words, flush=True)


def do_say(out, err="", code="0"):
    sys.stdout.write(out)
    sys.stderr.write(err)
    return int(code)


def do_args(*words):
    print(json.dumps({"argv": sys.argv[1:], "words": words}))


def do_where():
    me = os.getpid()
    facts = {
        "cwd": os.getcwd(),
        "env": dict(os.environ),
        "session": os.getsid(0) == me,
        "group": os.getpgid(0) == me,
        "fds": sorted(int(name) for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")),
        "stdin": sys.stdin.read(),
        "ignored": [n for n in signal.valid_signals() if signal.getsignal(n) == signal.SIG_IGN],
        "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
        "interrupt": signal.getsignal(signal.SIGINT) is signal.default_int_handler,
        "encoding": sys.stdout.encoding,
        "hour": time.strftime("%H", time.localtime(0)),
    }
    print(json.dumps(facts))


def do_exit(kind, value=""):
    print("before", end="")
    if kind == "int":
        sys.exit(int(value))
    if kind == "none":
        sys.exit(None)
    if kind == "text":
        sys.exit(value)
    if kind == "raise":
        raise ValueError(value)
    if kind == "interrupt":
        raise KeyboardInterrupt
    return int(value)


def do_vanish(code):
    os._exit(int(code))


def do_crash():
    ctypes.string_at(0)


def do_kill(number):
    os.kill(os.getpid(), int(number))
    time.sleep(FOREVER)


def do_spam(out, err):
    """Fills both streams at once."""
    writers = [threading.Thread(target=_write, args=(fd, int(size))) for fd, size in ((1, out), (2, err))]
    for writer in writers:
        writer.start()
    return 3


def _write(fd, size):
    block = b"0123456789abcdef" * 4096
    while size:
        size -= os.write(fd, block[: min(size, len(block))])


def do_bytes(text):
    os.write(1, bytes.fromhex(text))


def do_hang(*options):
    if "deaf" in options:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    say("hanging", os.getpid())
    time.sleep(FOREVER)


def do_polite(path):
    """Cleans up when asked to end."""

    def leave(_number, _frame):
        with open(path, "w", encoding="utf-8") as file:
            file.write("bye")
        sys.exit(0)

    signal.signal(signal.SIGTERM, leave)
    say("hanging")
    time.sleep(FOREVER)


def do_breed(kind, then):
    """Starts a descendant of some kind that would live on, then hangs or ends."""
    read, write = os.pipe()
    if os.fork() == 0:
        DESCENDANTS[kind](write)
    os.close(write)
    say("bred", os.read(read, 20).decode())
    os.close(read)
    if then == "hang":
        say("hanging", os.getpid())
        time.sleep(FOREVER)
    return 5


def _live(write):
    os.write(write, str(os.getpid()).encode())
    os.close(write)


def _plain(write):
    _live(write)
    os.execvp("sleep", SLEEP)


def _session(write):
    os.setsid()
    _plain(write)


def _deaf(write):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _session(write)


def _daemon(write):
    """Forks twice, as daemons do, and runs no program of its own."""
    os.setsid()
    if os.fork():
        os._exit(0)
    _live(write)
    time.sleep(FOREVER)


def _stranger(write):
    """A daemon that keeps neither environment nor name."""
    os.setsid()
    if os.fork():
        os._exit(0)
    _live(write)
    os.execvpe("sleep", SLEEP, {})


SLEEP = ["sleep", str(FOREVER)]
DESCENDANTS = {"plain": _plain, "session": _session, "deaf": _deaf, "daemon": _daemon, "stranger": _stranger}


def do_late():
    """Has things to do when it seems to be over."""
    atexit.register(lambda: print("atexit"))
    go = threading.Event()
    threading.Thread(target=lambda: (go.wait(30), print("thread"))).start()
    threading.Timer(0.01, go.set).start()
    print("main")


def do_random():
    print(random.random(), os.urandom(4).hex())


def do_family():
    """Own process id, the parent's, and the grandparent's."""
    parent = os.getppid()
    with open(f"/proc/{parent}/stat", encoding="utf-8") as file:
        print(os.getpid(), parent, file.read().rpartition(")")[2].split()[1])


def do_wait(fifo):
    """Until someone writes to the named pipe."""
    say("waiting")
    with open(fifo, encoding="utf-8") as file:
        print(file.read())


def do_touch(path):
    with open(path, "x", encoding="utf-8"):
        pass


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
