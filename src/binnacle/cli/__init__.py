"""The `bn` command: for people on a terminal, JSON for programs.

Only the command asked for is imported and only its parser is built; a group's commands
are declared in its module and listed in `commands.GROUPS`.
"""
