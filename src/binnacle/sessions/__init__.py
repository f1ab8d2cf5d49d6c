"""Sessions of agents: their plans, their beginning and end, and what they may do in a shell.

planning            makes plans, begins, resumes and ends sessions, and saves their files
session_request     the session that a server is to serve
run_sessions        the sessions of a run: resumed from an earlier run, or opened
run_additions       what a person adds to a run while it goes on
shell_session       whose shell a command runs in
shell_rights        what the session of that shell may do
shell_agent         how an agent registers from a shell, leaves it, and is ended
"""
