"""The two databases that a store can be in, each behind the same small protocol.

- `connection`: what the layers above know of a database: a connection that runs SQL, and its dialect.
- `sqlite`: a store in one file.
- `postgres`: a store in one schema of a PostgreSQL database; `project_schema` decides which schema a project has.
- `reconnection`: the connection of a store, opened again when it is lost.

Nothing in here knows of tasks. Errors of the drivers are translated here into `StoreError` or `Refused`.
"""
