"""The ways to connect to a server. None of them knows MCP; `transport` is the protocol they share.

stdio              a process of ours, whose messages are lines (`launch_activity`: whether it is still starting)
url_transports     makes one of those below
streamable_http    every request is a POST, answered with JSON or with events (`wire.framing`)
legacy_sse         one stream of events, and posts, as in 2024-11-05
fallback           the first of these two, until the server turns out to speak only the second
websocket          a message is a frame; over aiohttp

http_client        requests to one server: credentials, redirects, proxies, failures in words (`http_failures`)
http_connections   connections that are kept and used again; each is an `http_client_connection`, an answer an
                   `http_response`, and why there is none an error of `http_errors`
http_session       aiohttp, loaded when it is needed; `aiohttp_requests` sends over it
address_policy     which addresses a connection may lead to
task_set           the tasks of a transport, which end together
"""
