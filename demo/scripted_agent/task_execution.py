"""Does one task, as far as a script can: writes code and runs commands that stand in it, makes its tests pass."""

import os
import re
from collections.abc import Sequence

from msgspec import Struct

from binnacle.processes.keeper import Keeper
from binnacle.wire.acp import Location, ToolContent
from scripted_agent.client_reports import ClientReports
from scripted_agent.code_edits import both_sides, merged, place, read, write
from scripted_agent.commands import run
from scripted_agent.pytest_runs import Failure, Python, failures_in, named_tests
from scripted_agent.repair import Repair, find_repair
from scripted_agent.spec import Block, blocks_in
from scripted_agent.tools import Pace, Tools

MAX_REPAIRS = 5
"""Repairs of one task."""

_WANTS_TESTS = re.compile(r"\b(fix|repair|debug|bug|fail(s|ing|ed)?|make .* pass)\b", re.IGNORECASE)
_FENCED = re.compile(r"^\s*(`{3,}|~{3,}).*?^\s*\1\s*$", re.MULTILINE | re.DOTALL)


class Stuck(Exception):
    """A task cannot be done; the text says why."""


class Done(Struct, frozen=True, kw_only=True):
    """The result of a task."""

    summary: str
    learned: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    """Files, as paths from the project's folder."""


class TaskExecutor:
    """Works on the project's files and runs its programs, within one turn."""

    def __init__(self, *, folder: str, keeper: Keeper, tools: Tools, reports: ClientReports, pace: Pace) -> None:
        self._folder = folder
        self._keeper = keeper
        self._tools = tools
        self._reports = reports
        self._pace = pace
        self._python = Python(keeper, folder)
        self._changed: list[str] = []
        self._learned: list[str] = []

    async def do(self, title: str, description: str) -> Done:
        """Does a task.

        Raises:
            Stuck: it cannot.
            Rejected: the client does not allow what it takes.
        """
        if conflicts := await self._conflicts():
            return await self._settle(conflicts)
        blocks = [one for one in blocks_in(description) if one.path or one.is_command]
        said = [await (self._command(one) if one.is_command else self._place(one)) for one in blocks]
        prose = _FENCED.sub("", description)
        tests = named_tests(f"{title}\n{prose}", self._folder)
        if tests or (not blocks and _WANTS_TESTS.search(f"{title}\n{prose}")):
            said.append(await self._make_pass(tests))
        if not said:
            raise Stuck("no code, no command and no test is named in it, and I can do nothing else")
        return Done(summary="; ".join(said), learned=tuple(self._learned), changed=tuple(dict.fromkeys(self._changed)))

    async def _conflicts(self) -> list[str]:
        """The files in which a merge that was begun here left marks."""
        words = ["git", "-C", self._folder, "diff", "--name-only", "--relative", "--diff-filter=U"]
        ended = await run(self._keeper, words, folder=self._folder)
        return ended.output.split("\n")[:-1] if ended.is_good else []

    async def _settle(self, paths: Sequence[str]) -> Done:
        """Keeps both sides of a conflict, which is right where both only added something."""
        for path in paths:
            try:
                before = read(place(self._folder, path))
            except (ValueError, OSError) as error:
                raise Stuck(str(error)) from error
            if before is None:
                raise Stuck(f"one side of the merge deleted {path}, and I cannot tell who is right")
            await self._edit(path, before, both_sides(before), line=1)
        return Done(summary=f"kept both sides in {', '.join(paths)}", changed=tuple(paths))

    async def fix_tests(self, text: str) -> str:
        """Makes the failing tests that a text names pass; the result in words, which is empty if it names none."""
        failing = [one for one in named_tests(text, self._folder) if "::" in one]
        return await self._make_pass(failing) if failing else ""

    async def commit(self, message: str) -> None:
        """Commits what was changed, if the project is in git and the client allows it."""
        if not self._changed:
            return
        git = ("git", "-C", self._folder)
        if not (await run(self._keeper, [*git, "rev-parse", "--git-dir"], folder=self._folder)).is_good:
            return
        name = await run(self._keeper, [*git, "config", "user.email"], folder=self._folder)
        who = () if name.is_good else ("-c", "user.name=demo-agent", "-c", "user.email=demo@localhost")
        paths = list(dict.fromkeys(self._changed))
        async with self._reports.call(
            f"git commit {' '.join(paths)}", "execute", given={"message": message}, ask=True
        ) as call:
            await run(self._keeper, [*git, "add", "--", *paths], folder=self._folder)
            words = [*git, *who, "commit", "--quiet", "-m", message, "--", *paths]
            ended = await run(self._keeper, words, folder=self._folder)
            call.ended(ended.output, failed=not ended.is_good)

    async def _place(self, block: Block) -> str:
        try:
            file = place(self._folder, block.path)
            before = read(file)
            after = merged(before, block)
        except (ValueError, OSError) as error:
            raise Stuck(str(error)) from error
        if before == after:
            return f"{block.path} was so already"
        await self._edit(block.path, before, after, line=1)
        return f"wrote {block.path}"

    async def _edit(self, path: str, before: str | None, after: str, *, line: int) -> None:
        await self._pace()
        file = place(self._folder, path)
        at = [Location(path=file, line=line)]
        change = ToolContent(type="diff", path=file, old_text=before, new_text=after)
        async with self._reports.call(
            f"Edit {path}", "edit", given={"path": path}, at=at, change=change, ask=True
        ) as call:
            write(file, after)
            self._changed.append(path)
            call.changed(change)
            call.ended(f"wrote {path}")

    async def _command(self, block: Block) -> str:
        await self._pace()
        text = block.code.strip()
        async with self._reports.call(text, "execute", given={"command": text}, ask=True) as call:
            ended = await run(self._keeper, ["sh", "-euc", text], folder=self._folder)
            call.ended(ended.output, failed=not ended.is_good)
        if not ended.is_good:
            raise Stuck(f"`{text}` ended with code {ended.code}: {ended.output.strip()[-500:]}")
        return f"ran `{text.splitlines()[0]}`"

    async def _make_pass(self, tests: Sequence[str]) -> str:
        """Runs tests and repairs what fails, one fault after the other."""
        repairs: list[Repair] = []
        while failures := await self._run(tests):
            if len(repairs) == MAX_REPAIRS:
                raise Stuck(f"{failures[0].test} still fails after {MAX_REPAIRS} repairs")
            repairs.append(await self._repair(failures[0]))
        if not repairs:
            return f"{self._named(tests)} passes"
        return f"{self._named(tests)} passes after a change of {', '.join(one.where for one in repairs)}"

    async def _repair(self, failure: Failure) -> Repair:
        repair = await find_repair(
            failure, folder=self._folder, python=self._python, tools=self._tools, reports=self._reports
        )
        if repair is None:
            raise Stuck(
                f"{failure.test} fails ({failure.message}), and I know no change of one line that makes it pass"
            )
        old, new = repair.candidate.before.strip(), repair.candidate.after.strip()
        before = read(os.path.join(self._folder, repair.path))
        await self._reports.say(f"The fault is in {repair.where}: `{old}` should be `{new}`.")
        await self._edit(repair.path, before, repair.source, line=repair.candidate.line)
        seen = f", seen with {repair.seen}" if repair.seen else ""
        self._learned.append(f"{repair.where} `{old}` had to be `{new}`{seen}; {failure.test} shows it")
        return repair

    async def _run(self, tests: Sequence[str]) -> list[Failure]:
        """Runs tests; what failed."""
        await self._pace()
        async with self._reports.call(
            f"pytest {' '.join(tests)}".strip(), "execute", given={"tests": list(tests)}
        ) as call:
            ended = await self._python.tests(*tests)
            call.ended(ended.output, failed=not ended.is_good)
        if ended.is_good:
            return []
        failures = failures_in(ended.output)
        if not failures:
            raise Stuck(f"{self._named(tests)} cannot be run: {ended.output.strip()[-500:]}")
        return failures

    @staticmethod
    def _named(tests: Sequence[str]) -> str:
        return ", ".join(tests) or "the test suite"
