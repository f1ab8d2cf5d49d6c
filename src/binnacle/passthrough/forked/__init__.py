"""What runs in the fork server and in the processes it forks.

Synchronous and single-threaded on purpose: a fork copies one thread only, and a lock that another one held would
stay locked for ever. Nothing here may load asyncio.
"""
