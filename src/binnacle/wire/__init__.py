"""The protocols that we speak, without I/O: bytes in, values out, and back.

Foreign payloads (arguments, results, ids) stay raw bytes, so that nothing is decoded twice or changed in transit.

    framing             messages in a stream: one per line, by their length, or as events
    pending             requests that wait for their answers
    jsonrpc             JSON-RPC 2.0; json_limits limits the complexity of JSON
    mcp, mcp_headers    MCP in both eras, and the HTTP headers of the later one
    hidden_text         text of others, without what a reader cannot see
    acp/                the Agent Client Protocol
"""
