"""The run report: what a run was asked for, did, changed and spent, what failed in it, and what waits for a person.

values        the report as one value, which is also its JSON
collection    reads it from the store and from git
changes       what git knows of a run
markdown      the report as Markdown
html_page     the report as one self-contained page
hostile_text  makes text of agents and tasks harmless in both

Not the reports of agents about their tasks (`store.reports`).
"""
