"""Repairs one line of a Python function under a failing test.

With a debugger, the function is stopped where the test calls it, and every change that `candidates` knows is tried on
its real arguments; what gives the test what it wants is kept. Without one, changes are tried by running the test.
Either way a change is made to the project only once the tests pass with it in a copy.
"""

import asyncio
import os
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager

from msgspec import Struct

from scripted_agent.candidates import Candidate, Function, bounded, candidates, code_of
from scripted_agent.client_reports import ClientReports
from scripted_agent.code_edits import read, write
from scripted_agent.debugger import Debugger, Place, Stop
from scripted_agent.pytest_runs import Failure, Python, failures_in
from scripted_agent.suspects import RESULT, Suspect, suspect_of
from scripted_agent.tools import Tools

MAX_STOPS = 25
"""Stops until the call that fails must have come."""

CHANGES_PER_EXPRESSION = 12
"""Changes tried in one expression."""

MAX_TEST_RUNS = 40
"""Changes that are tried by running tests, where there is no debugger."""

MAX_COPIED_BYTES = 50 << 20
"""Bytes of a project that is copied to try changes."""

_not_copied = shutil.ignore_patterns(".git", ".venv", "venv", "node_modules", "__pycache__", ".vsc-bridge", ".*_cache")

TRIED = """
def tried(scope, call, given, codes):
    import copy
    def steps(left):
        def step():
            left[0] -= 1
            if left[0] < 0:
                raise TimeoutError
        return step
    found = []
    for code in codes:
        space = dict(scope, __step__=steps([100_000]))
        try:
            exec(compile(code, "<candidate>", "exec"), space)
            found.append(repr(eval(call, space, copy.deepcopy(given)))[:500])
        except Exception:
            found.append(None)
    return found
"""
"""What is evaluated in the program: runs each code with the arguments of the frame; the results as text."""


class Repair(Struct, frozen=True, kw_only=True):
    """A change that makes a test pass."""

    path: str
    source: str
    """The file's text with the change."""

    candidate: Candidate
    seen: str = ""
    """What the debugger showed at the line."""

    @property
    def where(self) -> str:
        return f"{self.path}:{self.candidate.line}"


async def find_repair(
    failure: Failure, *, folder: str, python: Python, tools: Tools, reports: ClientReports
) -> Repair | None:
    """A change of one line that makes a test pass and no other test of its file fail."""
    suspect = suspect_of(folder, failure)
    if suspect is None:
        await reports.think(f"I cannot tell from {failure.test} which function is to blame.")
        return None
    source = read(os.path.join(folder, suspect.path)) or ""
    wanted = suspect.wanted.replace(RESULT, f"{suspect.function.name}(…)")
    await reports.think(f"{failure.test} is about {suspect.function.name} in {suspect.path}: it wants {wanted}.")
    ranked = [(one, change) for one in (suspect.function, *suspect.helpers) for change in candidates(source, one)]
    likely, seen = await _seen_to_work(suspect, failure.test, source, ranked, tools, reports)
    async with _copy(folder) as copy:
        if copy and not likely:
            some = [change for _, change in ranked][:MAX_TEST_RUNS]
            texts = [change.applied(source) for change in some]
            number = await python.first_to_pass(failure.test, suspect.path, texts, copy=copy)
            likely = [] if number is None else [some[number]]
        for change in likely if copy else ():
            write(os.path.join(copy, suspect.path), change.applied(source))
            after = await _failing(python, failure.test, copy)
            if after and failure.test not in after:
                write(os.path.join(copy, suspect.path), source)
                after -= await _failing(python, failure.test, copy)
            if not after:
                return Repair(path=suspect.path, source=change.applied(source), candidate=change, seen=seen)
    return None


async def _seen_to_work(
    suspect: Suspect,
    test: str,
    source: str,
    ranked: Sequence[tuple[Function, Candidate]],
    tools: Tools,
    reports: ClientReports,
) -> tuple[list[Candidate], str]:
    """The changes with which the function returns what the test wants, and what was seen at the line of the first.

    None where there is no debugger, or the function cannot be tried by itself.
    """
    if not Debugger.is_there(tools):
        return [], ""
    async with Debugger(tools) as debugger:
        stop = await _reach(debugger, suspect, test)
        if stop is None:
            await reports.think(f"{test} never stops in {suspect.function.name}.")
            return [], ""
        await reports.say(f"Stopped in {suspect.function.name} ({suspect.path}:{stop.frames[0].line}): {stop.shown()}.")
        found: list[Candidate] = []
        for start in range(0, len(ranked), CHANGES_PER_EXPRESSION):
            found += await _tried(
                debugger, suspect, source, ranked[start : start + CHANGES_PER_EXPRESSION], stop.frames
            )
            if found:
                break
        seen = ""
        if found and (there := await _look(debugger, suspect.path, found[0].line, stop)):
            seen = there.shown(*re.findall(r"\w+", found[0].before))
            await reports.say(f"At {suspect.path}:{found[0].line} `{found[0].before.strip()}` sees {seen}.")
        return found, seen


async def _reach(debugger: Debugger, suspect: Suspect, test: str) -> Stop | None:
    """The stop in the function when it is called by the statement that fails."""
    first, last = suspect.lines
    if not await debugger.stop_at(suspect.path, suspect.function.body):
        return None
    stop = await debugger.start(test)
    for _ in range(MAX_STOPS):
        if stop is None or any(one.path == suspect.test_path and first <= one.line <= last for one in stop.frames[1:]):
            break
        stop = await debugger.go_on()
    # What is evaluated from here on must not stop again.
    await debugger.pass_by(suspect.path, suspect.function.body)
    return stop


async def _tried(
    debugger: Debugger,
    suspect: Suspect,
    source: str,
    some: Sequence[tuple[Function, Candidate]],
    frames: Sequence[Place],
) -> list[Candidate]:
    """Those changes with which the function returns what the test wants."""
    function = suspect.function
    codes: list[str] = []
    for changed, candidate in some:
        new = candidate.applied(source)
        parts = [code_of(new, function)] if changed == function else [code_of(new, changed), code_of(source, function)]
        codes.append(bounded("\n".join(parts)))
    given = ", ".join(f"{name!r}: {name}" for name in function.arguments)
    run = f"(lambda space: (exec({TRIED!r}, space), space['tried'])[1])({{}})"
    results = await debugger.evaluate(f"{run}(globals(), {function.call!r}, {{{given}}}, {codes!r})", frames[0])
    caller = next((one for one in frames[1:] if one.path == suspect.test_path), frames[0])
    good = await _wanted(debugger, suspect, {one for one in results or () if one is not None}, caller)
    return [candidate for (_, candidate), result in zip(some, results or (), strict=False) if result in good]


async def _wanted(debugger: Debugger, suspect: Suspect, results: Collection[str], caller: Place) -> set[str]:
    """Those results that the test wants, as its own frame sees it."""
    ordered = sorted(results)
    wanted = {one: f"bool({suspect.wanted.replace(RESULT, f'({one})')})" for one in ordered}
    verdicts = await debugger.evaluate(f"[{', '.join(wanted.values())}]", caller) if ordered else []
    if verdicts is None:  # one of them is an error, which says nothing about the others
        verdicts = [await debugger.evaluate(wanted[one], caller) for one in ordered]
    return {one for one, verdict in zip(ordered, verdicts, strict=True) if verdict is True}


async def _look(debugger: Debugger, path: str, line: int, stop: Stop) -> Stop | None:
    """The program at a line that it comes to next."""
    if stop.frames[0].line == line:
        return stop
    return await debugger.go_on() if await debugger.stop_at(path, line) else None


async def _failing(python: Python, test: str, copy: str) -> set[str]:
    """The tests of a test's file that fail in a copy of the project."""
    ended = await python.tests(test.split("::", maxsplit=1)[0], copy=copy)
    return {one.test for one in failures_in(ended.output)} or ({test} if ended.code else set())


@asynccontextmanager
async def _copy(folder: str) -> AsyncIterator[str]:
    """A copy of the project to try changes in; empty if it is too large for that."""
    with tempfile.TemporaryDirectory(prefix="bn-demo-") as place:
        copy = os.path.join(place, "project")
        if await asyncio.to_thread(_size, folder) > MAX_COPIED_BYTES:
            yield ""
            return
        await asyncio.to_thread(shutil.copytree, folder, copy, ignore=_not_copied, symlinks=True)
        yield copy


def _size(folder: str) -> int:
    total = 0
    for path, folders, files in os.walk(folder):
        left_out = _not_copied(path, folders)
        folders[:] = [one for one in folders if one not in left_out]
        total += sum(os.lstat(os.path.join(path, one)).st_size for one in files)
    return total
