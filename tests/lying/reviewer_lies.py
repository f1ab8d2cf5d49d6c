"""Agents that review and lie: what each does, and what it is told or what a person reads."""

from typing import NamedTuple


class ReviewerLie(NamedTuple):
    """A reviewer whose word must not close the task."""

    name: str
    script: str
    """What it plays after `reviewed_plays.READ`. It writes down what it was answered."""

    told: str
    """Words of the answer to it; empty if nobody answers."""

    criteria: tuple[str, ...] = ("work.txt is good", "nothing else is changed")
    reviewers: int = 1
    recipe: str = "loop"
    """Of the worker."""


BOTH = '[{"criterion": 1, "met": True, "place": "work.txt:1"}, {"criterion": 2, "met": True, "place": "work.txt:1"}]'

SHELL = """
import subprocess, sys

def bn(*words, **env):
    known = {name: value for name, value in os.environ.items() if name not in env}
    command = [os.path.join(os.path.dirname(sys.executable), "bn"), "-C", REPO, *words]
    env = known | {name: value for name, value in env.items() if value}
    ran = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    return f"{ran.returncode} {ran.stdout} {ran.stderr}"
"""
"""`bn` in the shell of the reviewer, in the repository; a variable that is given empty is left out."""

LIES = (
    ReviewerLie(
        "accepts without naming a line",
        'agent.keep("told", accept(criteria=[{"criterion": 1, "met": True}, {"criterion": 2, "met": True}]))',
        "nothing shows that this is met",
    ),
    ReviewerLie(
        "names a file without a line",
        f'agent.keep("told", accept(criteria={BOTH.replace("work.txt:1", "work.txt")}))',
        "the line is missing",
    ),
    ReviewerLie(
        "says nothing of a criterion",
        'agent.keep("told", accept())',
        "these criteria have no verdict: nothing else is changed",
    ),
    ReviewerLie(
        "names a line that the file does not have",
        f'agent.keep("told", accept(criteria={BOTH.replace("work.txt:1", "work.txt:99", 1)}))',
        "work.txt has 1 lines, not 99",
    ),
    ReviewerLie(
        "names a file that it has written itself",
        f'agent.write("proof.txt", "it is good")\n'
        f'agent.keep("told", accept(criteria={BOTH.replace("work.txt:1", "proof.txt:1", 1)}))',
        "proof.txt is not in the reviewed commit",
    ),
    ReviewerLie(
        "names a file outside of the repository",
        f'agent.keep("told", accept(criteria={BOTH.replace("work.txt:1", "../../etc/passwd:1", 1)}))',
        "not a place in the change",
    ),
    ReviewerLie(
        "accepts what it says is not met",
        f'agent.keep("told", accept(criteria={BOTH.replace("True", "False", 1)}))',
        "these criteria are not met",
    ),
    ReviewerLie(
        "accepts without a word about a task without criteria",
        'agent.keep("told", accept(criteria=[], message=""))',
        "the acceptance says nothing",
        criteria=(),
    ),
    ReviewerLie(
        "gives the verdict of another review",
        f'agent.keep("told", accept(criteria={BOTH}, review=OTHER))',
        "is a review of",
    ),
    ReviewerLie(
        "gives the verdict on another task",
        f'agent.keep("told", accept(criteria={BOTH}, review=OTHER, task_id=OTHER_TASK))',
        "is not the task of this session",
    ),
    ReviewerLie("says that it accepts, and gives no verdict", 'agent.say("I accept it all.")', ""),
    ReviewerLie(
        "closes the task with a tool",
        'agent.keep("told", agent.text("task_update", id=agent.task, status="done"))',
        "task_update is not enabled in this session",
    ),
    ReviewerLie(
        "closes the task in its shell",
        SHELL + 'agent.keep("told", bn("task", "done", agent.task, "--waive", "it is fine"))',
        "only a person may waive",
    ),
    ReviewerLie(
        "accepts as a person in its shell",
        SHELL + 'agent.keep("told", bn("review", "accept", agent.task))',
        "only a person may accept a change",
    ),
    ReviewerLie(
        "accepts as a person in a shell that forgot the session",
        SHELL + 'agent.keep("told", bn("review", "accept", agent.task, BN_SESSION="", BN_MCP_SESSION=""))',
        "only a person may accept a change",
    ),
    ReviewerLie(
        "is the worker, whose session it was given",
        SHELL + 'import json\n'
        'given = json.dumps({"task_id": agent.task, "review": review, "decision": "accept", "message": "mine"})\n'
        'worker = (Path(WORKER) / "secret-2").read_text()\n'
        'agent.keep("told", bn("tool", "review_verdict", given, BN_SESSION=worker))',
        "was not opened to review",
        recipe="default",
        criteria=(),
    ),
    ReviewerLie(
        "votes three times",
        f'agent.keep("told", "".join(accept(criteria={BOTH}) for _ in range(3)) if agent.times("review") == 1 else "")',
        "others decide with you",
        reviewers=3,
    ),
)  # fmt: skip
