"""What a session may see and read: from recipe, discipline, feature and task to tools and prompt.

recipe              what a kind of session gets; recipe_loader reads it, recipe_limits keeps it from growing
session_plan        the plan of one session: its tools and its prompt, computed only from values
tool_limits         limits of a session as narrower parameters and checks of the task
tool_budget         which tools are listed, within a budget of tokens (token_count)
prompt, sections    what the agent reads first, made from prompt_data; codebase describes the repository
tool_mentions       sentences that name tools, shown only if the session has the tools
session_files       the plan as files, for clients to start from
rights              what a session may do with `bn` in a shell
discipline_sets     ready-made personas
"""
