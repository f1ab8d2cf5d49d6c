"""The code of the keeper's process: one thread, no asyncio, as few imports as possible."""
