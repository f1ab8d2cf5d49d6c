"""Values to try the rules on."""

from datetime import timedelta
from typing import Any

from binnacle.work.actor import Actor
from binnacle.work.learning import Learning
from binnacle.work.task import Task
from places import NOW

PERSON = Actor("ann")
AGENT = Actor("bna-0001", "agent")
OTHER = Actor("bna-0002", "agent")

HOUR = timedelta(hours=1)


def a_task(**fields: Any) -> Task:
    known = {"id": "bn-aaaa", "number": 1, "title": "mend it", "kind": "task", "priority": 2, "status": "pending"}
    return Task(**{**known, "created_at": NOW, "updated_at": NOW, **fields})


def held(by: Actor, **fields: Any) -> Task:
    """A task under a claim that still lasts."""
    known = {"status": "in_progress", "claimed_by": by.name, "claim_expires_at": NOW + HOUR, "fence": 1}
    return a_task(**{**known, **fields})


def a_learning(text: str, **fields: Any) -> Learning:
    known = {"id": "bnl-0001", "source": "human", "created_at": NOW, "updated_at": NOW}
    return Learning(text=text, **{**known, **fields})
