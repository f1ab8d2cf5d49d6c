"""Where a project is and how it is set up: no work data, no database."""
