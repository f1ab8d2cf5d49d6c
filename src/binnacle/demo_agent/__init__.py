"""`bn-demo-agent`: a coding agent without a model, for demonstrations and tests.

It speaks ACP as real agents do, connects to the MCP servers it is given, and works through their tools: plans tasks
from a specification, takes one, does it, reports. What it can do is what a script can: write code that stands in the
specification, run commands that stand there, and repair a line of a Python function under a failing test. The same
input gives the same work. On demand it misbehaves (`misbehaviour`), so that whoever runs agents can be tested.

    main → face (ACP: sessions and turns) → script (what a turn does) → doing → editing, repair → candidates, debugger
                                              └→ work (tasks and notes) → servers (MCP)
"""
