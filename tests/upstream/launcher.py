"""A launcher, as `npx` is on its first start: `launcher.py MANNER UNTIL COMMAND…`. Needs nothing but Python.

Works until UNTIL, a file that appears or a number of seconds, and then becomes the command. MANNER is how it shows:
`noise` on standard error, `children` that come and go, `busy` at the processor, `writing` to a file, `idle` not at all.
"""

import os
import subprocess
import sys
import tempfile
import time

manner, until, *command = sys.argv[1:]
began = time.monotonic()


def is_done():
    return time.monotonic() - began > float(until) if until.isdecimal() else os.path.exists(until)


while not is_done():
    if manner == "children":
        subprocess.run(["sleep", "0.3"], check=True)
    elif manner == "busy":
        sum(range(10**6))
    elif manner == "writing":
        with tempfile.TemporaryFile(buffering=0) as file:
            file.write(b"x" * (1 << 20))
        time.sleep(0.1)
    else:
        if manner == "noise":
            print("fetching", file=sys.stderr, flush=True)
        time.sleep(0.1)
os.execv(command[0], command)
