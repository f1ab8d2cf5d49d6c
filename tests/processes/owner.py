"""A process that owns programs, for tests: `owner.py COMMAND…` says their process ids and waits to be ended."""

import asyncio
import os
import sys

from binnacle.processes.keeper import Keeper


async def main() -> None:
    async with Keeper() as keeper:
        null = os.open(os.devnull, os.O_RDWR)
        owned = await keeper.start(sys.argv[1:], env=os.environ, cwd=os.getcwd(), stdin=null, stdout=1, stderr=2)
        print("owner", os.getpid(), keeper._link.pid, owned.pid, flush=True)
        await owned.wait()


if __name__ == "__main__":
    asyncio.run(main())
