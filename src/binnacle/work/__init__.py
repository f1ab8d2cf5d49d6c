"""The work model: entities and their rules.

Everything here is a value or a pure function of values and a given `now`. Nothing
reads a clock, a file or a database; `store` does that and asks this package what is allowed.
"""
