"""The tools of servers: one small protocol (`toolset`), and wrappers that each change one thing. `chain` orders them.

    server_toolset    innermost: what a server lists, and the way to it
    screened          leaves out what hides something              (listing)
    pinned            holds back what has changed                  (listing)
    with_headers      repeats marked arguments in HTTP headers     (listing and calls)
    selected          allows, denies and renames                   (listing)
    cached            keeps what was listed                        (listing)
    limited           so many calls at once and a minute           (calls)
    overflow          cuts results that are too large              (calls)
    audited           records every call                           (calls)

`prefixed` gives the tools of all servers names (`tool_names`) under which none stands for another.
"""
