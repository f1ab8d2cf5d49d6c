"""The two databases that a store can be in, each behind the same small protocol.

- `connection`: what everything above knows of a database: a connection that runs SQL, and the dialect it speaks.
- `sqlite`: a store in one file.
- `postgres`: a store in one schema of a PostgreSQL database; `project_schema` decides which schema a project has.
- `reconnection`: the connection of a store, opened again when it is lost.

Nothing in here knows of tasks. Errors of the drivers end here: what comes out is a `StoreError` or `Refused`.
"""
