"""One project: where it is, its store, its scripts and the catalog of its tools.

project             a repository and how Binnacle is set up for it
store_opening       opens its store; shared_store does so in PostgreSQL
machine_stores      every store of this machine, and which place each belongs to
session_locks       who is at work on a session: a lock that ends with its process
tool_catalog        every tool that is ours or made of the project's scripts
script_provider     the scripts of the project as tools; bridge_host runs those for a debugger
workspace           where in the project programs are debugged
person_only         acts that only a person may do
"""
