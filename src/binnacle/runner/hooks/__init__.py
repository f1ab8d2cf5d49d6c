"""Commands of a project that run at certain events of a run.

`hook_file` reads them from `.binnacle/hooks.yaml`; `hook_runner` runs those that a person has trusted.
"""
