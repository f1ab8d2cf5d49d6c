"""Starts other people's programs, ends them with all they started, and answers what the system knows of processes.

    Keeper ──── socket ───→ the keeper's process     small, started at the first need, one per `Keeper`
      │     descriptors        ├─ program            leads a session of its own; carries a mark
      │                        │    └─ what it started, which comes to the keeper when it is orphaned
      └──── pipes of the ─────→└─ program
            caller

A program ends with all it started: when it is told to, when it has ended by itself, when the `Keeper` is left, and when
the process that has the `Keeper` dies, however it dies. That is why another process does the work: it outlives this
one for as long as ending the rest takes, and a server with threads and an event loop never forks.

Our side:
    keeper              what the rest of the program uses: `Keeper.start`, `OwnedProgram.end`
    keeper_connection   one keeper's process and the socket to it
    program_state       what is known about one program
    piped_program       an owned program, its input and its output
    output_log          the last lines of what a program wrote; rolling_file is a log with a bound
    leftovers           ends what a killed keeper or guard has left behind
    helper_process      starts a process of ours with a socket to it: a keeper, a fork server

The keeper's side:
    keeper_process      the process: requests come in, programs start, ends are told

For both sides, and for the guards of `passthrough`:
    trees               ends process trees; the theory of it is there
    process_tree        one tree, and how far its end has come
    census              which process belongs to which tree
    frames              messages on the socket

Facts, for everybody:
    facts               the table of processes, environments, programs; signals to the very process
    linux_facts, portable_facts     where facts come from: /proc or psutil
    process_entry       one process of the table
    usage, tcp_owner    what a process has used; whose end of a connection it is
    linux               what only Linux has; BN_PORTABLE=1 hides it (docs/platforms.md)

What the keeper's process loads imports nothing that is not needed, so that it is there in a few milliseconds and stays
small.
"""
