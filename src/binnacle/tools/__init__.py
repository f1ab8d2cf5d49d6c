"""Everything an agent can call: one catalog, one way to call it, whatever executes it.

A call walks straight down: is the tool there and enabled? are the arguments valid? are its
prerequisites met? then the provider runs it under a deadline, and one rendering comes back.
"""
