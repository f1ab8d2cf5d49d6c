"""Debugs programs without an editor, through the debug adapters that editors use.

    scripts/                 what agents call: a function of the debugger for each script
      └─ debugger            the programs of a workspace under the debugger, and which of them a call means
           ├─ breakpoints    of the workspace; sent to every debugged program (`hit_conditions`: every third time …)
           └─ debug_session  a program under the debugger, with the adapter's process (`adapter_process`)
                └─ debug_target   one connection: the program, or a process that it started
                     └─ dap  the Debug Adapter Protocol over a socket

To start: `launch_request` (the parameters), `launch_json` (configurations of VS Code), `adapters` (those installed),
`pytest_stops` and `in_program/` (tests stop where they fail), `fast_debugpy` (starts debugpy sooner).
To answer: `stop_report` (where a program is paused), `variable_tree`, `program_output`, `reference_ids`,
`debug_errors`, `adapter_dialects` (differences between adapters).
To look back: `session_recorder` writes the events of adapters, `recorded_session` reads them.
To wait: `cancellable_wait`, and `tool_output` for other programs.

`debug_session` begins with how a session lives and ends.
"""
