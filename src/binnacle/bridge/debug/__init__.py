"""Debugs programs without an editor, through the debug adapters that editors use.

    Debugger                 runs a script by its alias: `breakpoint.set`, `debug.start`, …
      ├─ Breakpoints         of the workspace; sent to whatever is debugged
      └─ Session             a program under the debugger, and the adapter's process
           └─ Target         one connection: the program, or a process it started
                └─ Dap       the Debug Adapter Protocol over a socket

Ids of frames and variables hold until the program goes on (`references`). Every call that lets it go on waits for
what comes next, within its time. What adapters say is recorded (`recording`) and can be asked about afterwards
(`postmortem`).
"""
