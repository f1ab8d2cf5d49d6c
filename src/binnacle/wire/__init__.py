"""JSON-RPC and MCP framing, without I/O: bytes in, values out, and back.

Payloads that are other people's (arguments, results, ids) stay raw bytes, so that
nothing is lost or changed on the way through.
"""
