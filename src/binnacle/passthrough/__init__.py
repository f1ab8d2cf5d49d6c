"""Runs `bn` for others: a real process per call, as fast as a fork.

    Runner ──── socket ───→ fork server          imported the command once, forks on request
      │                        └─ guard          one per call: adopts orphans, ends the whole tree
      ├──── socket per call ────→ │
      └──── pipes per call ──────→└─ child       calls the command's function and exits with its code

The guard of a call is tied to the `Runner` by a socket of its own. Closing it, by intent or because the process that
owned the `Runner` died, ends the call and everything it started. So a call needs nothing of the fork server once it
runs, and the fork server can be replaced or killed at any time. Where there is no fork, a call is a cold process.

This package knows no command by name and imports none: what to run is given as a string (`command.Command`).
"""
