"""Starts other people's programs, ends them with everything they started, and provides facts about processes.

    Keeper ──── socket ───→ the keeper's process     small, started at the first need, one per `Keeper`
      │     descriptors        ├─ program            leads a process session; has a mark
      │                        │    └─ what it started, which comes to the keeper when it is orphaned
      └──── pipes of the ─────→└─ program
            caller

A program ends with everything it started: on request, when it has ended by itself, when the `Keeper` is left, and when
the process that has the `Keeper` dies, however it dies. That is why another process does the work: it outlives this one
until everything has ended, and a server with threads and an event loop never forks.

Our side:
    keeper              what the rest of the program uses: `Keeper.start`, `OwnedProgram.end`
    keeper_connection   one keeper's process and the socket to it
    program_state       the state of one program
    piped_program       an owned program with its input and output
    output_log          the last lines that a program wrote
    leftovers           ends what a killed keeper or guard left behind
    helper_process      starts a helper with a socket to it: a keeper, a fork server

The keeper's side:
    keeper_process      the process: takes requests, starts programs, reports their ends

For both sides, and for the guards of `passthrough`:
    trees               ends process trees; the theory of it is there
    process_tree        one tree, and the stage of its end
    census              which process belongs to which tree
    frames              messages on the socket

Facts, for all packages:
    facts               the table of processes, environments, programs; signals that cannot hit a reused id
    linux_facts, portable_facts     where facts come from: /proc or psutil
    process_entry       one process of the table
    usage, tcp_owner    what a process has used; whose end of a connection it is
    linux               what only Linux has; BN_PORTABLE=1 hides it (docs/platforms.md)

Modules of the keeper's process import only what they need, so that it starts in a few milliseconds and stays small.
"""
