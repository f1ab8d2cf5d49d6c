"""What runs in the keeper's process: one thread, no asyncio, as few imports as can be."""
