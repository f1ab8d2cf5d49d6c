"""Random interleavings of what clients do, in the order of a seed: nobody is mixed, nothing is held by the dead."""

import itertools
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

import pytest

from binnacle.project.project import find_project
from binnacle.project.store_opening import open_store
from binnacle.store import abandoned_work, events, tasks
from binnacle.store.tasks import TaskFilter
from binnacle.work.status import Status
from binnacle.work.task import Task
from identity.clients import Client, Talk

STEPS = 40

STATUSES: tuple[Status, ...] = get_args(Status)


@dataclass
class Side:
    """A connection of a client, and what it was told."""

    owner: "Party"
    talk: Talk
    place: Path
    handles: list[str] = field(default_factory=list)
    """Handles of agents on it, once there are several."""

    @property
    def handle(self) -> dict[str, str]:
        return {"session": self.handles[-1]} if self.handles else {}


@dataclass
class Party:
    """A client process."""

    number: int
    client: Client
    sides: list[Side] = field(default_factory=list)
    agents: set[str] = field(default_factory=set)
    """Who it was told it is."""


class Walk:
    """What has happened so far, and what must hold."""

    def __init__(self, bn, make_client, ends, repos, seed: int) -> None:
        self.bn = bn
        self.dice = random.Random(seed)
        self.make_client = make_client
        self.ends = ends
        self.repos = repos
        self.parties: list[Party] = []
        self.dead: list[Party] = []
        self.titles = itertools.count(1)
        self.numbers = itertools.count(1)
        self.said: list[str] = []

    def step(self) -> None:
        moves = [self.start, self.connect, self.add, self.add, self.claim, self.claim, self.move, self.orient]
        moves += [self.shell, self.finish, self.close, self.kill]
        move = self.dice.choice(moves)
        if move is not self.start and not self.parties:
            move = self.start
        if move not in (self.start, self.connect, self.shell, self.kill) and not self.sides():
            move = self.connect
        self.said.append(move.__name__)
        move()

    def sides(self) -> list[Side]:
        return [side for party in self.parties for side in party.sides]

    def start(self) -> None:
        if len(self.parties) < 4:
            self.parties.append(Party(next(self.numbers), self.make_client()))

    def connect(self) -> None:
        party = self.dice.choice(self.parties)
        if len(party.sides) >= 2:
            return
        era = self.dice.choice(["old", "new"])
        name = f"c{next(self.numbers)}"
        if self.dice.random() < 0.5:
            place = self.dice.choice(self.repos)
            side = Side(party, party.client.pipe(name, era=era, cwd=place), place)
        elif any(side.talk.name.startswith("web") for side in party.sides):
            return  # all its requests without a session are one caller
        else:
            end = self.dice.choice(self.ends)
            side = Side(party, party.client.web(f"web-{name}", end[0].url, end[0].token, era=era), end[1])
        # A client that comes back is who it was before, and where: so every side says where it works.
        party.sides.append(side)
        self._set_agent(side, side.place)

    def _set_agent(self, side: Side, place: Path) -> None:
        opened = side.talk.data("binnacle-set_agent", path=str(place), **side.handle)
        side.place = place
        self._is(side.owner, opened["agent_id"])

    def move(self) -> None:
        self._set_agent(self.dice.choice(self.sides()), self.dice.choice(self.repos))

    def orient(self) -> None:
        side = self.dice.choice(self.sides())
        oriented = side.talk.data("binnacle-orient", name=f"n{next(self.numbers)}", **side.handle)
        assert oriented["repo"] == str(side.place)
        self._is(side.owner, oriented["agent_id"])

    def add(self) -> None:
        side = self.dice.choice(self.sides())
        title = f"Task {next(self.titles)}"
        tool, arguments = self.dice.choice(
            [("task_add", {"tasks": [{"title": title}]}), ("bn_run", {"args": ["task", "add", title]})]
        )
        side.talk.data(tool, **arguments, **side.handle)
        for repo in self.repos:
            titles = [task.title for task in self._tasks(repo)]
            assert titles.count(title) == (repo == side.place), f"{title} was added in {side.place}"

    def claim(self) -> None:
        side = self.dice.choice(self.sides())
        result = side.talk.tool("task_claim", **side.handle)
        if not result["isError"] and (claimed := result["structuredContent"]["data"].get("task")):
            self._is(side.owner, claimed["claimed_by"])
            assert claimed["id"] in {task.id for task in self._tasks(side.place)}

    def finish(self) -> None:
        side = self.dice.choice(self.sides())
        for task in self._tasks(side.place):
            if task.claimed_by in side.owner.agents:
                side.talk.tool("task_status", id=task.id, status="done", **side.handle)

    def shell(self) -> None:
        party = self.dice.choice(self.parties)
        repo = self.dice.choice(self.repos)
        title = f"Task {next(self.titles)}"
        done = party.client.shell("task", "add", title, cwd=repo)
        if done["code"]:
            assert "several agents" in done["err"], done["err"]
            return
        made = next(task.id for task in self._tasks(repo) if task.title == title)
        with open_store(find_project(str(repo))) as store, store.read() as tx:
            actor = events.list_events(tx, entity_id=made, limit=1)[0].actor
        assert actor == "ann" or actor in party.agents, f"{actor} is not of client {party.number}"

    def close(self) -> None:
        side = self.dice.choice(self.sides())
        side.talk.close()
        side.owner.sides.remove(side)

    def kill(self) -> None:
        party = self.dice.choice(self.parties)
        party.client.kill()
        self.parties.remove(party)
        self.dead.append(party)

    def _is(self, party: Party, agent: str) -> None:
        """Notes who a client is. No two clients are ever the same."""
        for other in (*self.parties, *self.dead):
            assert other is party or agent not in other.agents, f"{agent} is client {other.number} and {party.number}"
        party.agents.add(agent)

    def _tasks(self, repo: Path) -> list[Task]:
        """What a reader sees now."""
        with open_store(find_project(str(repo))) as store, abandoned_work.read_current(store) as tx:
            return tasks.list_tasks(tx, TaskFilter(status=STATUSES), limit=500)[0]

    def check(self) -> None:
        """Whoever holds something is alive."""
        living = set().union(*(party.agents for party in self.parties), {"ann"})
        for repo in self.repos:
            for task in self._tasks(repo):
                assert task.claimed_by in {None, *living}, f"{task.id} is held by the dead"


@pytest.mark.parametrize("seed", range(3))
def test_nobody_is_mixed_and_nothing_is_held_by_the_dead(bn, client, serve, other, monkeypatch, seed):
    monkeypatch.setenv("BN_DATA_DIR", bn.env["BN_DATA_DIR"])
    repos = [bn.repo, other]
    for repo in repos:
        bn("task", "add", "Seeded", cwd=repo)
    ends = [(serve(cwd=repo), repo) for repo in repos]
    walk = Walk(bn, client, ends, repos, seed)
    for _ in range(STEPS):
        try:
            walk.step()
            walk.check()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, after {', '.join(walk.said)}: {error}") from error
