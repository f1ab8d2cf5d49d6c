"""A command that cannot be loaded."""

raise SystemExit("not today")
