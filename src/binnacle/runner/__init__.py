"""Drives agents in iterations until the work is done. The only layer that speaks the Agent Client Protocol."""
