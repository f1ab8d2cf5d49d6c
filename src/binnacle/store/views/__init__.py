"""Data for readers, combined from several tables. Nothing in here changes the store.

- `task_details`: a task with what it waits for, its parts, its comments and its questions.
- `dependency_graph`: parts of the graph of dependencies, read in bulk.
- `overview`: the state of a project in numbers.
- `closed_work`: tasks that are done, with what they were closed with.
- `search`: full-text search, best match first.
"""
