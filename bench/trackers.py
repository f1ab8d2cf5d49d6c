"""The group `peers`: the same work by other trackers that agents use, and by `bn` in the same rounds.

They come from npm at the versions in `peers/package.json` and run without a network: their own work is measured.
"""

import json
import os
import shutil
from collections.abc import Generator

from bench.commands import turn
from bench.environment import nothing, project
from bench.measure import Command, Failed, run, take_turns
from bench.plan import Plan
from bench.report import Result, count, timed
from bench.workload import Item, items

PACKAGE = os.path.join(os.path.dirname(__file__), "peers", "package.json")

ROUNDS = 5
"""Task Master takes seconds for everything."""

TITLE = "one more for all, turn {}"
"""Of a task created; not a title that another group has given."""

JOBS = {
    "--version": (("--version",), ("--version",), ("--version",)),
    "create one": (("task", "add", TITLE), ("task", "create", TITLE, "--plain"), ("add-task", "-t", TITLE, "-d", "…")),
    "list all": (("task", "list", "--all", "-n", "10000"), ("task", "list", "--json"), ("list", "--json")),
    "ready": (("ready", "-n", "10000"), ("task", "list", "--ready", "--json"), ("list", "--ready", "--json")),
    "next": (("next",), ("task", "list", "--ready", "--limit", "1", "--json"), ("next", "--format", "json")),
}
"""How it is said to `bn`, to Backlog.md and to Task Master."""

PRIORITIES = ("high", "high", "medium", "low", "low")
"""Ours, in the words of both."""


def measure(plan: Plan) -> Generator[Result]:
    """Every job by every tracker at the smallest size, and the memory it takes them."""
    size = plan.sizes[0]
    if absent := npm_install(plan, PACKAGE, "other trackers, 1.5 GB, about two minutes"):
        yield Result(group="peers", name="Backlog.md, Task Master", note=absent)
        return
    bn, offline = project(plan, size), _offline()
    trackers = {
        "bn": bn._replace(argv=(*offline, *bn.argv)),
        "Backlog.md": Command((*offline, _program("backlog")), clean_environment(plan), backlog_repository(plan, size)),
        "Task Master": Command((*offline, _program("task-master")), clean_environment(plan), _task_master(plan, size)),
    }
    for (name, tracker), words in zip(trackers.items(), JOBS["list all"], strict=True):
        # One that overlooks the tasks written for it would win every round.
        if tracker(*words).count("mend the ") < size:
            raise Failed(f"{name} does not find the {count(size)}")
        yield Result(group="memory", name=f"list all, {count(size)}, {name}", value=tracker.peak(*words), unit="MB")
    for job, wordings in JOBS.items():
        plan.say(f"peers: {job}")
        said = zip(trackers.items(), wordings, strict=True)
        contestants = {name: turn(one, *words) for (name, one), words in said}
        taken = take_turns(contestants, rounds=ROUNDS, yardstick=turn(nothing(plan)))
        for name, values in taken.items():
            reference = taken["bn"] if name != "bn" else None
            yield timed("peers", f"{job}, {count(size)}, {name}", values, reference, of="bn")


def backlog_repository(plan: Plan, size: int) -> str:
    """A repository of Backlog.md: a file for each task."""
    repo = new_repository(plan, f"backlog-{size}")
    write_file(
        f"{repo}/backlog/config.yml",
        'project_name: "bench"\ndefault_status: "To Do"\nstatuses: ["To Do", "In Progress", "Done"]\nlabels: []\n'
        'date_format: yyyy-mm-dd\nremote_operations: false\nauto_commit: false\ntask_prefix: "task"\n',
    )
    for item in items(size):
        waits = f"\n  - TASK-{item.waits_for}" if item.waits_for else " []"
        write_file(
            f"{repo}/backlog/tasks/task-{item.number} - {item.title.replace(' ', '-')}.md",
            f"---\nid: TASK-{item.number}\ntitle: {item.title}\nstatus: {'Done' if item.is_done else 'To Do'}\n"
            f"assignee: []\ncreated_date: '2026-01-01 10:00'\nlabels: []\ndependencies:{waits}\n"
            f"priority: {PRIORITIES[item.priority]}\nordinal: {item.number * 1000}\n---\n\n## Description\n\n"
            f"<!-- SECTION:DESCRIPTION:BEGIN -->\n{item.description}\n<!-- SECTION:DESCRIPTION:END -->\n",
        )
    return repo


def _task_master(plan: Plan, size: int) -> str:
    """A repository of Task Master: one file with all tasks."""
    repo = new_repository(plan, "task-master")
    kept = {"master": {"tasks": [_entry(item) for item in items(size)], "metadata": {}}}
    write_file(f"{repo}/.taskmaster/tasks/tasks.json", json.dumps(kept, indent=2))
    write_file(f"{repo}/.taskmaster/state.json", '{"currentTag": "master", "migrationNoticeShown": true}')
    write_file(f"{repo}/.taskmaster/config.json", '{"global": {"projectName": "bench", "anonymousTelemetry": false}}')
    return repo


def _entry(item: Item) -> dict[str, object]:
    return {
        "id": item.number,
        "title": item.title,
        "description": item.description,
        "details": "",
        "testStrategy": "",
        "status": "done" if item.is_done else "pending",
        "dependencies": [item.waits_for] if item.waits_for else [],
        "priority": PRIORITIES[item.priority],
        "subtasks": [],
    }


def new_repository(plan: Plan, name: str) -> str:
    repo = os.path.join(plan.folder, name)
    run(["git", "init", "--quiet", repo])
    return repo


def write_file(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def clean_environment(plan: Plan) -> dict[str, str]:
    """No keys, no settings, and a proxy that is not there."""
    given = {"PATH": os.environ["PATH"], "HOME": os.path.join(plan.folder, "home"), "LANG": "C.UTF-8", "CI": "1"}
    nowhere = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    return {**given, **nowhere, "NO_COLOR": "1", "TASKMASTER_SKIP_AUTO_UPDATE": "1"}


def _offline() -> tuple[str, ...]:
    """What starts a program without a network, on a system that lets us; elsewhere the environment has to do."""
    prefix = ("unshare", "--map-root-user", "--net")
    try:
        run([*prefix, "true"])
    except Failed:
        return ()
    return prefix


def _program(name: str) -> str:
    return os.path.join(npm_cache(PACKAGE), "node_modules", ".bin", name)


def npm_cache(package: str) -> str:
    """Where the peers are kept between runs: 900 packages are not fetched twice. A new version gets a new place."""
    with open(package, encoding="utf-8") as file:
        versions = json.load(file)["dependencies"]
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(base, "binnacle-bench", "-".join(f"{name}-{version}" for name, version in versions.items()))


def npm_install(plan: Plan, package: str, told: str) -> str:
    """Fetches the peers unless they are there. Returns why that was not possible, or nothing."""
    if shutil.which("npm") is None:
        return "npm not found"
    place = npm_cache(package)
    if os.path.exists(place):
        return ""
    plan.say(f"installing into {place}, once: {told}")
    partial = f"{place}.{os.getpid()}"
    try:
        os.makedirs(partial)
        shutil.copy(package, os.path.join(partial, "package.json"))
        # A lock would name this platform's packages only: Backlog.md is a different one on each.
        quiet = ("--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
        run(["npm", "install", *quiet], cwd=partial)
        os.rename(partial, place)
    except Failed as error:
        return f"not installed: {error}".replace("\n", " ")
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return ""
