"""The MCP server: requests of both protocol eras, on stdio and on HTTP.

mcp_server          answers requests; knows no transport
provider            the protocol of what it serves: tools, resources, prompts
catalog_provider    serves the catalog of a session; upstream_content is what other servers add
request             one request under way and the client it came from; progress_report tells how far it is

session_lookup      finds the session that a call belongs to: who is calling, and where
live_session        a session while it is served; saved_sessions keeps it for the client's next server

mcp_over_stdio      a message a line
mcp_over_http       one endpoint; session_endpoints and http_routes put several on one port
bearer_tokens       who may come in
http_listener, http_connection, http_request_head, http_exchange
                    HTTP/1.1 itself, which knows nothing of MCP
"""
