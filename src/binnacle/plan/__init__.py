"""What a session may see and read: from recipe, discipline, feature and task to tools and prompt.

`recipe` loads what a kind of session gets, `session` works out the plan of one, `prompt` renders what
its agent reads, `binding` puts the plan's limits on the tools, `files` keeps a plan for a client to start from.
"""
