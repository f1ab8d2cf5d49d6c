"""What a session is asked to be. Light: a server knows it before it loads anything else."""

from typing import NamedTuple


class Terms(NamedTuple):
    """Under which recipe a session works, as whom, and on what."""

    recipe: str = "default"
    discipline: str | None = None
    feature: str | None = None
    task: str | None = None

    @property
    def is_bare(self) -> bool:
        """Whether the store has no say in which tools the session gets."""
        return not (self.discipline or self.feature or self.task)


class ServedSession(NamedTuple):
    """A session that a server serves."""

    terms: Terms = Terms()
    id: str | None = None
    """Of the session in the store; None for a connection that nobody planned."""

    start: str | None = None
    """The folder in which its agent works, if that is not ours."""
