"""A project while it is served over MCP: its tools, its upstream servers, and how both are kept up to date."""
