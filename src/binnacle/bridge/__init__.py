"""Scripts that a host in the workspace runs for agents: a debugger of our own, or an editor.

Client and host speak through files in `.vsc-bridge` (`protocol`), so that either may be written in another language
and die at any moment without taking the other along. What a script takes and answers stands in its metadata
(`metadata`), from which the tools are made.
"""
