"""Runs `bn` for others: a real process per call, as fast as a fork.

    CommandRunner ──── socket ───→ fork server          imported the command once, forks on request
      │                               └─ guard          one per call: adopts orphans, ends the whole tree
      ├──── socket per call ───────────→ │
      └──── pipes per call ─────────────→└─ child       calls the command's function and exits with its code

The guard of a call is tied to the `CommandRunner` by a socket of its own. Closing it, by intent or because the process
that owned the `CommandRunner` died, ends the call and everything it started. So a call needs nothing of the fork server
once it runs, and the fork server can be replaced or killed at any time. Where there is no fork, or no fork server to be
had, a call is a program of a `Keeper` (`processes`).

    command_runner          calls, several at a time, each with a timeout
    command                 what is run, as a string: nothing here imports a command
    blocked_commands        what may not be run
    call_request, completed_call    what goes in, and what comes out
    call_process            what the runner needs of a call, however it was started:
      forked_call             a guard and its child, over `guard_connection`
      spawned_call            a program of the keeper
    fork_server             our side of the fork server; `current_fork_server` replaces one that is out of date
    installed_files         whether it is out of date
    capture                 what a call writes
    forked                  what runs in the fork server, the guards and the children
"""
