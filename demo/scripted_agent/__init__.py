"""The demo agent: a coding agent without a model, for demonstrations and tests.

It speaks ACP as real agents do, connects to the MCP servers it is given, and works through their tools: plans tasks
from a specification, takes one, does it, reports. It can do what a script can: write code that stands in the
specification, run commands that stand there, and repair a line of a Python function under a failing test. The same
input gives the same work.

    main            the command: `python demo/agent.py`
    acp_agent       sessions and turns, as an ACP client sees them; stdio_peer: JSON-RPC on standard input and output
    saved_sessions  what another process needs to load a session
    turn            what one prompt leads to: plan, do one task, or reply
    work_tools      tasks and notes, through the tools of the session; tools, mcp_servers: how they are called
    client_reports  what the client is shown, and what it is asked to allow
    spec            tasks and blocks of code in a specification
    task_execution  does one task: code_edits, commands, pytest_runs
    repair          finds the change that makes a test pass: suspects, candidates, debugger
"""
