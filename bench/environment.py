"""A clean environment with `bn` in it, as someone has who only uses it: no development tools, nothing editable."""

import os
import re
import sys

from bench.measure import Command, run
from bench.plan import ROOT, Plan
from bench.report import count
from bench.workload import copy_sqlite
from binnacle.config.directories import STORE_FILE, project_key


def program(plan: Plan, name: str, *arguments: str) -> Command:
    """A program of the clean environment, which is made when it is first asked for."""
    place = os.path.join(plan.folder, "environment")
    if not os.path.exists(place):
        _install(plan, place)
    home = os.path.join(plan.folder, "home")
    env = {"PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8", "BN_DATA_DIR": os.path.join(home, "data")}
    return Command((os.path.join(place, "bin", name), *arguments), env, home)


def nothing(plan: Plan) -> Command:
    """The least a Python program can cost: the yardstick for everything that starts a process."""
    return program(plan, "python", "-c", "pass")


def project(plan: Plan, size: int, *, suffix: str = "") -> Command:
    """`bn` on a repository with `size` tasks; another suffix is another repository."""
    repo = os.path.realpath(os.path.join(plan.folder, f"repo-{size}{suffix}"))
    bn = program(plan, "bn", "-C", repo)
    if not os.path.exists(repo):
        plan.say(f"a repository with {count(size)}")
        os.makedirs(os.path.join(repo, ".git"))
        copy_sqlite(plan.folder, size, store_file(bn))
    return bn


def of_checkout(bn: Command) -> Command:
    """The same command as people have it who work on the program: editable, beside their tools."""
    return bn._replace(argv=(os.path.join(os.path.dirname(sys.executable), "bn"), *bn.argv[1:]))


def store_file(bn: Command) -> str:
    """Where the store of a `project` is."""
    return os.path.join(bn.env["BN_DATA_DIR"], project_key(bn.argv[-1]), STORE_FILE)


def _install(plan: Plan, place: str) -> None:
    """Builds a wheel and installs it with what it needs, at the versions of the lock."""
    plan.say("building a wheel and installing it into a clean environment")
    wheels = os.path.join(plan.folder, "wheels")
    os.makedirs(os.path.join(plan.folder, "home"), exist_ok=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    run([*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", wheels, ROOT])
    run([sys.executable, "-m", "venv", "--without-pip", place])
    wheel = os.path.join(wheels, os.listdir(wheels)[0])
    run([*pip, "--python", os.path.join(place, "bin", "python"), "install", "--constraint", _pins(plan), wheel])


def _pins(plan: Plan) -> str:
    """The lock without its hashes: pip wants hashes for all or none, and our own wheel has none."""
    path = os.path.join(plan.folder, "pins.txt")
    with open(os.path.join(ROOT, "requirements.lock"), encoding="utf-8") as lock, open(path, "w") as pins:
        pins.writelines(f"{pin}\n" for pin in re.findall(r"^[\w.-]+==[^\s;]+", lock.read(), re.MULTILINE))
    return path
