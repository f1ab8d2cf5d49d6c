"""Runs `bn` for others: a real process per call, as fast as a fork.

    CommandRunner ──── socket ───→ fork server          imported the command once, forks on request
      │                               └─ guard          one per call: adopts orphans, ends the whole tree
      ├──── socket per call ───────────→ │
      └──── pipes per call ─────────────→└─ child       calls the command's function and exits with its code

A socket ties the guard of a call to the `CommandRunner`. Closing it, on purpose or because the process of the
`CommandRunner` died, ends the call and everything it started. So a running call does not need the fork server, which
can be replaced or killed at any time. Without fork, or when the fork server fails, a `Keeper` starts the call
(`processes`).

    command_runner          calls, several at a time, each with a timeout
    command                 what is run, as a string: nothing here imports a command
    blocked_commands        commands that may not be run
    call_request, completed_call    what goes in, and what comes out
    call_process            the protocol of a call, however it was started:
      forked_call             a guard and its child, over `guard_connection`
      spawned_call            a program of the keeper
    fork_server             our side of the fork server; `current_fork_server` replaces one that is out of date
    installed_files         whether it is out of date
    capture                 the output of a call
    forked                  the code of the fork server, the guards and the children
"""
