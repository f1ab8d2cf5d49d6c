"""The code of the fork server and of the processes it forks.

Synchronous and single-threaded on purpose: a fork copies only one thread, and a lock that another thread held would
stay locked for ever. Nothing here may load asyncio.
"""
