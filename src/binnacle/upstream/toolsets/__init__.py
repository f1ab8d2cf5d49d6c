"""The tools of servers: one small protocol (`toolset`), and wrappers that each change one thing. `chain` orders them.

    server_toolset    innermost: what a server lists, and requests to it
    screened          leaves out what has hidden text              (listing)
    pinned            withholds what has changed                   (listing)
    with_headers      repeats marked arguments in HTTP headers     (listing and calls)
    selected          allows, denies and renames                   (listing)
    cached            keeps what was listed                        (listing)
    limited           limits calls at once and per minute          (calls)
    overflow          cuts results that are too large              (calls)
    audited           records every call                           (calls)

`prefixed` gives the tools of all servers unique names (`tool_names`).
"""
