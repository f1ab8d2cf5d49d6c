"""Other MCP servers: how they are configured, connected, kept alive and offered to a session."""
