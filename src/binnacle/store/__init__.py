"""Where work is kept: SQLite or PostgreSQL behind one set of functions.

Open a `Store`, then call the functions of `tasks`, `features`, `learnings` … inside one of its transactions:

    with store.write(by=Actor("ann")) as tx:
        task = tasks.add(tx, NewTask(title="mend the login form"))

A transaction is all or nothing, and what it changed is appended to the event log with it.
"""
