"""Other MCP servers: their tools, resources and prompts, offered to our sessions.

A call goes down this list, and its answer back up:

    gateway          all servers of a session: what they offer together, and requests to each of them
    toolsets/        one small protocol, and wrappers that name, screen, pin, limit, cut and record (in the order of
                     `chain`)
    supervisor       one server: connected, watched, connected again; `pool` shares it between sessions,
                     `server_lists` is what it offers, `resource_updates` who follows its resources, `server_status`
                     the states it is in, `launch_deadline` how long it may take to start
    request_relay    one request, with the questions that the server asks before it answers (`elicitation`), within its
                     time (`call_deadline`), whatever eras client and server are of
    mcp_client       speaks MCP over a transport, in a version it has agreed on (`negotiation`); `change_stream` is how
                     the server tells of changes
    transports/      the ways to connect: stdio, Streamable HTTP, HTTP with events, WebSocket

And:

    configuration/   which servers are configured, in which file, and whether a person trusted them
    auth/            who we are to a server: keys, token files, OAuth
    listing/         what servers list, checked before anyone reads it: screening, pins, schemas, names of content
    answers/         what servers answer: repaired, cut to size, searched for links

`server_bounds` has every limit on what a server may make us keep or do. `redaction` takes known secrets out of what is
said about servers. `upstream_steps` are the next steps that errors name.
"""
