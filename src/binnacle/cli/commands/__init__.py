"""What each command of `bn` does: a module a group of commands, found by `binnacle.cli.command_index`."""
