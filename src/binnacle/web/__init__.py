"""The page for people: `bn gui` serves it, on this machine only.

It is a face like the command line, so it may call everything that a command may. A request passes from top to bottom:

    page_server        one HTTP application: who may ask, and which of the parts below answers
      ├─ sign_in       the single-use link, and the cookie that it is exchanged for
      ├─ page_files    the built page (`assets/`), which `make page` makes from the sources in `page/`
      ├─ event_stream  what changed, as it happens, from the event log's cursor on
      └─ endpoints     what the page can read and do, by name, with the types of arguments and answers
           └─ api/     these functions, by what they are about
                └─ page_project   one open project: its store, who acts, and whether anything may be changed

The types of `api/` are the only description of what the page gets: `typescript_types` writes them for the page.
"""
