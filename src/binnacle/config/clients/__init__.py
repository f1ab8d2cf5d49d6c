"""Puts Binnacle into the configuration of agent clients, and takes it out again.

`known` says what each client reads and where, `places` where that is on this machine. `jsonc`, `toml`, `yaml` and
`section` change text and touch no file; `plan` decides with them, `files` reads, locks, backs up and replaces.
"""
