"""A browser as a program: follows redirects from the address it is given to the end."""

import sys
from urllib.request import urlopen

if __name__ == "__main__":
    with urlopen(sys.argv[1], timeout=30) as page:
        page.read()
