"""Binnacle: the one MCP server a coding agent needs in a repository."""

__version__ = "0.1.0"
