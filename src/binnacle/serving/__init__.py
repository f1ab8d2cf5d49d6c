"""A project while it is served over MCP: its tools, its upstream servers, and how both are kept up to date.

lazy_project        the project as clients see it; loads its tools when they are needed
toolbox             executes the tools of one session
tool_list_cache     the list of tools, saved between starts
shared_upstreams    which upstream servers are configured; upstream_connections connects to them
refreshing          detects changes and notifies the clients
open_projects       the projects that the sessions of one server are in
"""
