"""Sessions of agents: their plans, their life from beginning to end, and what they may do in a shell.

planning            makes plans, begins, resumes and ends sessions, and keeps their files
session_request     what a server is asked to serve
run_sessions        the sessions of a run, found where an earlier run left them or opened
shell_session       whose shell a command runs in
shell_rights        what the session of that shell may do
"""
