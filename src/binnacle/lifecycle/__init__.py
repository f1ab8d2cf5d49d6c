"""The processes behind agents: who they are, whether they are there, and how they are ended. No store, no work data.

process             a process by its id and its start; the processes above it
caller              the shell that runs `bn`, and the agent above that shell
loopback_peer       the process at the other end of a connection
agent_detection     whether an agent is above a process, or a person
agent_presence      whether a registered agent is still there
termination         ends one process, and no other
foreground          runs a program in place of this one
"""
