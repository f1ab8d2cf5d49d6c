"""Git, as a program that is run. Everything that asks git or changes a repository goes through here.

command           runs `git`, with a timeout and without a terminal, and commits changes
"""
