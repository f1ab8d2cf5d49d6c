"""A scripted model that has read its prompt: it plans the parts of a specification (`runner.parts`), or does one.

What it does next follows from its prompt, from what it has called since, and from the files as they are. So it also
goes on well where another was killed.
"""

import json
import re
from pathlib import Path

from runner import parts
from runner.peers.agents import PeerAgent
from runner.peers.model import Led, is_called, say, use
from server.peers.model import Json, _text

MAX_STEPS = 40
"""Calls after one prompt. A model that needs more is caught in a circle."""

_TASK = re.compile(r"\*\*(bn-[0-9a-f]+): Part (\d+)\*\*")
_REMINDER = "Before you stop:"
_TREE = re.compile(r'/[^"\\\s]*/worktrees/[\w.-]+/trees/\d+')


class Builder(Led):
    """Plays for every agent of a run, in all their sessions at once."""

    def __init__(self, agent: PeerAgent, repo: Path) -> None:
        super().__init__()
        self._agent = agent
        self._repo = repo

    def step(self, request: Json) -> Json:
        messages = request["messages"]
        prompts = [(at, _text(one["content"])) for at, one in enumerate(messages) if one["role"] == "user"]
        ours = [(at, text) for at, text in prompts if _TASK.search(text) or _REMINDER in text or "# Parts" in text]
        if not ours:
            return say("that was it")
        at, prompt = ours[-1]
        calls = _calls(messages[at:])
        if len(calls) > MAX_STEPS:
            return say("it does not get anywhere")
        tasks = [found.groups() for _, text in ours for found in _TASK.finditer(text)]
        if not tasks:
            return self._plan(prompt, calls)
        task, part = tasks[-1]
        # An agent tells its model where it works; with several workers, that is a tree of its own.
        tree = _TREE.search(json.dumps(request))
        return self._work(task, int(part), Path(tree[0]) if tree else self._repo, calls)

    def _plan(self, prompt: str, calls: list[tuple[str, Json]]) -> Json:
        if not _has(calls, "task-add") and _REMINDER not in prompt:
            return use("task-add", tasks=parts.plan_in(prompt))
        return say("planned") if _has(calls, "iteration-summary") else use("iteration-summary", summary="Planned it.")

    def _work(self, task: str, part: int, tree: Path, calls: list[tuple[str, Json]]) -> Json:
        if not _has(calls, "task-next"):
            return use("task-next")
        for name, text in parts.changes_of(part, tree).items():
            path = tree / name
            before = path.read_text() if path.exists() else None
            if before == text:
                continue
            if before is not None and self._agent.read is not None:
                reading = self._agent.read(str(path))
                if not any(
                    is_called(called, reading["tool"]) and given == reading["arguments"] for called, given in calls
                ):
                    return reading
            return self._agent.write(str(path), text, before)
        if not _has(calls, "task-update"):
            return use("task-update", id=task, status="completed")
        if not _has(calls, "iteration-summary"):
            return use("iteration-summary", summary=f"Did part {part}.")
        return say(f"did part {part}")


def _calls(messages: list[Json]) -> list[tuple[str, Json]]:
    """The calls that the model made, each with its arguments."""
    functions = [call["function"] for message in messages for call in message.get("tool_calls") or ()]
    return [(one["name"], json.loads(one["arguments"] or "{}")) for one in functions]


def _has(calls: list[tuple[str, Json]], tool: str) -> bool:
    return any(is_called(name, tool) for name, _ in calls)
