"""Owns the processes of other people's programs for as long as they are needed: MCP servers, debug adapters, agents.

    Keeper ──── socket ───→ the keeper's process     small, started at the first need, one per `Keeper`
      │     descriptors        ├─ program            leads a session of its own; carries a mark
      │                        │    └─ what it started, which comes to the keeper when it is orphaned
      └──── pipes of the ─────→└─ program
            caller

A program ends with all it started: when it is told to, when it has ended by itself, when the `Keeper` is left, and when
the process that has the `Keeper` dies, however it dies. That is why another process does the work: it outlives this
one for as long as ending the rest takes, and a server with threads and an event loop never forks.

`keeping` is what runs in that process. It and the modules it shares with this side (`frames`, `linux`, `table`) load
nothing that is not needed, so that it is there in a few milliseconds and stays small.

Where there is no /proc (macOS) only the program and its process group are seen: what left the group, a daemon for
instance, is not ended. Orphans are adopted on Linux only.
"""
