"""Puts the parts together: the only package that constructs servers, runs and hosts for a command."""
