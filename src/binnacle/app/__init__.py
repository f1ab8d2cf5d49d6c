"""Puts the parts together for a command.

project_server      serves a project over MCP, on stdio or on HTTP
served_session      which session a new MCP server is for
mcp_serving         the MCP server of a session
client_launch       starts an agent client on a session of its own
run                 a run: its sessions, its server, its prompts and the loop
check_run           runs the checks of a project on a commit
verification        verifies closed tasks at a commit
prompt_templates    prompts that a project writes itself
upstream_probe      connects to upstream servers for one command
upstream_sign_in    signs a person in to an upstream server, and out of it
client_tokens       the named tokens of clients of the HTTP server
tool_call           calls a tool or a script for one command
trust_review        everything in a project that waits for a person's trust
editors             editors of the VS Code family, and our extension in them
"""
