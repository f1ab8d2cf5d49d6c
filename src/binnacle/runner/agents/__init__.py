"""Agents as processes, over the Agent Client Protocol. We do not trust what an agent sends: every wait has a bound,
every message a limit, and every failure is an `AgentError` that says what failed and what to do.

    agent_commands   agents that are known by name, and how each is started
    acp_agent        starts an agent, opens sessions in it, ends it
    acp_session      prompts it; turn: one prompt and its answer; tool_calls: what it does
    acp_connection   JSON-RPC with it: matches requests and answers
    agent_process    its program and pipes
    permissions      what it may do, by policy or by asking a person
    allowed_commands the commands that it may run without asking: trusted checks
    rate_limits      recognises that its provider takes no more requests; agent_failures: errors for people
    codex            what codex-acp needs in addition
"""
