"""The page for people: `bn gui` serves it, on this machine only.

Like the command line, it may call everything below it. A request passes from top to bottom:

    page_serving       serves the page: alone, or in a thread beside a run or an MCP server
      └─ page_server   one HTTP application: who may ask, and which of the parts below answers
           ├─ sign_in         the link that works once, and the cookie that it is exchanged for
           ├─ page_files      the built page (`assets/`), which `make page` makes from the sources in `page/`
           ├─ event_stream    what changed, as it happens, from the event log's cursor on; topics that a page watches
           └─ endpoint_calls  one call: its arguments, its answer or its error
                └─ endpoints  what the page can read and do, by name, with the types of arguments and answers
                     └─ api/  these functions, by what they are about
    page_projects      the projects that are shown; `page_project` is one of them: its store, and who acts
    served_pages       which pages are served on this machine now
    typescript_types   writes the types of `api/`, the only description of what the page gets, for the page
"""
