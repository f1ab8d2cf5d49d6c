"""The protocols that we speak, without I/O: bytes in, values out, and back.

Payloads that are other people's (arguments, results, ids) stay raw bytes, so that nothing is decoded twice and nothing
changes on its way.

    framing             messages in a stream: a line each, by their length, or as events
    pending             requests that wait for their answers
    jsonrpc             JSON-RPC 2.0; json_limits says how JSON may be made up
    mcp, mcp_headers    MCP in both eras, and the HTTP headers of the later one
    hidden_text         text of others, without what a reader cannot see
    acp/                the Agent Client Protocol
"""
