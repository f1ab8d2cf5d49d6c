"""The processes behind agents: who they are, whether they are there, and how they are ended. No store, no work data."""
