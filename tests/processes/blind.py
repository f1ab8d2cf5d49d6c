"""A keeper as on a system that shows no processes and knows no adoption, for tests: `python -I -S blind.py …`."""

import os
import sys

if __name__ == "__main__":
    sys.path.append(os.path.join(os.path.dirname(__file__), os.pardir, os.pardir, "src"))
    from binnacle.processes import linux, table

    table.SEES_PROCESSES = False
    linux.adopt_orphans = lambda: None
    from binnacle.processes.keeping.service import main

    main(int(sys.argv[1]), sys.argv[2])
