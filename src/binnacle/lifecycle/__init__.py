"""The processes of agents: how to identify them, check that they are alive, and end them. No store, no work data.

process             a process by its id and its start; its ancestors
shell_caller        the shell that runs `bn`, and the agent that runs that shell
loopback_peer       the process at the other end of a connection
agent_detection     whether a process was started by an agent or by a person
agent_presence      whether a registered agent is still alive
termination         ends one process, and no other
foreground          runs a program in place of this one
"""
