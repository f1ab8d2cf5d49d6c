"""The scripts that the headless host runs, by subject: each a type of parameters and a function of the debugger.

`script_table` has all of them, and runs one by its name.
"""
