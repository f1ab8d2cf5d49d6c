"""A module that talks while it is loaded."""

print("look at me")
