"""The names of the recipes that come with Binnacle, and the names that they had in the seeds."""

RECIPE_ALIASES = {
    "braindump": "brainstorm",
    "discuss": "disciplines",
    "enrichment": "enrich",
    "opus_review": "review",
    "planning": "plan",
    "ramble": "interview",
    "task_execution": "task",
    "task_intents": "report",
    "yap": "chat",
}
"""Other names of recipes → their own. They are accepted wherever a recipe is named."""


def recipe_name(name: str) -> str:
    """A recipe's own name, from that or another name of it."""
    return RECIPE_ALIASES.get(name, name)


def aliases_of(name: str) -> list[str]:
    """The other names of a recipe."""
    return [alias for alias, own in RECIPE_ALIASES.items() if own == name]
