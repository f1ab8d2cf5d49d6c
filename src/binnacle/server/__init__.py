"""The MCP server: one engine for both protocol eras, on stdio and on HTTP.

`engine` answers requests, `stdio` and `http` carry them, `host` is what the engine serves.
"""
