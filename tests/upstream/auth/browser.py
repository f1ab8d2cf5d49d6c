"""A browser as a program: follows redirects from the address it is given to the end.

What every user of the machine could see of it, and of what started it, it leaves in the file that `SEEN` names.
"""

import os
import sys
from urllib.request import urlopen

if __name__ == "__main__":
    if "SEEN" in os.environ:
        with open(os.environ["SEEN"], "wb") as seen:
            for process in (os.getppid(), os.getpid()):
                with open(f"/proc/{process}/cmdline", "rb") as arguments:
                    seen.write(arguments.read())
    with urlopen(sys.argv[1], timeout=30) as page:
        page.read()
