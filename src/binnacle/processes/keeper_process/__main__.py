"""The entry point of the keeper's process: `python -I -S THIS_FILE DESCRIPTOR TOKEN [FOLDER OF A LIBRARY]`."""

import os
import sys

if __name__ == "__main__":
    # An isolated interpreter finds only its own modules. Ours come last, so that they hide none of those.
    sys.path.append(os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3)))
    sys.path += sys.argv[3:]
    from binnacle.processes.keeper_process.service import main

    main(int(sys.argv[1]), sys.argv[2])
