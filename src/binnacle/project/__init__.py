"""One project: where it is, its store, its scripts and the catalog of its tools.

project             a repository and how Binnacle is set up for it
store_opening       opens its store; shared_store does so in PostgreSQL
machine_stores      every store of this machine, and which place each belongs to
session_locks       which processes work on a session: locks that end with their process
tool_catalog        every built-in tool, and the tools of the project's scripts
script_provider     the scripts of the project as tools; bridge_host runs those of the debugger
check_file          the checks of the project
check_file_edits    adds checks to its file
workspace           the folder in which programs are debugged
person_only         actions that only a person may take
"""
