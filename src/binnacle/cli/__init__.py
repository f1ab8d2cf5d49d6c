"""The `bn` command: JSON for programs, `-H` for people.

Only the command asked for is imported and only its parser is built; a group's commands
are declared in its module and listed in `commands.GROUPS`.
"""
