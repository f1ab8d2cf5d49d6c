"""Speaks the Agent Client Protocol with agents that are processes of ours.

`agent.open_agent` starts one and ends it; `session.Session` prompts it; `connection.Connection` carries the messages;
`process.Process` owns the program and its pipes. What an agent says is foreign: every wait has a bound, every message a
limit, and whatever goes wrong is an `AgentError` that says what and what to do.
"""
