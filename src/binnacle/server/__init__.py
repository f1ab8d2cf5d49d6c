"""The MCP server: requests of both protocol eras, on stdio and on HTTP.

mcp_server          answers requests, independent of the transport
provider            the protocol of what it serves: tools, resources, prompts
catalog_provider    serves the catalog of a session; upstream_content is what upstream servers add
request             one request in progress and its client; progress_report limits its progress messages

session_lookup      finds the session of a call: who is calling, and where
live_session        a session while it is served; saved_sessions keeps it for the client's next server
served_project      what the server needs of a project

mcp_over_stdio      one message per line on stdin and stdout
mcp_over_http       one endpoint; session_endpoints and http_routes put several on one port
bearer_tokens       which clients may connect
http_listener, http_connection, http_request_head, http_exchange
                    HTTP/1.1 itself, independent of MCP
"""
