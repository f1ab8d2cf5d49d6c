"""Binnacle: the one MCP server a coding agent needs in a repository."""

__version__ = "0.1.0"

DISTRIBUTION = "binnacle-bn"
"""What the package index calls Binnacle. The names `binnacle` and `binnacle-mcp` belong to other projects there."""
