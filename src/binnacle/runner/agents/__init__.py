"""Agents that are processes of ours, over the Agent Client Protocol. What an agent says is foreign: every wait has a
bound, every message a limit, and whatever goes wrong is an `AgentError` that says what and what to do.

    agent_commands   agents that are known by name, and how each is started
    acp_agent        starts an agent, opens sessions in it, ends it
    acp_session      prompts it; turn: one prompt and its answer; tool_calls: what it is doing
    acp_connection   JSON-RPC with it: matches requests and answers
    agent_process    its program and pipes
    permissions      what it may do, by policy or by asking a person
    rate_limits      recognises that its provider takes no more requests; agent_failures: errors from what went wrong
    codex            what codex-acp needs besides
"""
