"""The tools that change and read the work itself, as typed functions of a transaction."""
