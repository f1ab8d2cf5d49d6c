"""One run of a check on a commit: a prepared checkout, the command with a request for a report, and what was seen."""

import asyncio
import os
import secrets
import shutil
from collections.abc import Callable, Collection

from msgspec import Struct
from msgspec.structs import replace

from binnacle.checks.bounded_log import BoundedLog
from binnacle.checks.canary import write_canary
from binnacle.checks.check_environment import CheckEnvironment
from binnacle.checks.check_process import run_bounded
from binnacle.checks.check_subject import CheckSubject
from binnacle.checks.checkout_watch import describe_changed, watch_checkout
from binnacle.checks.clean_checkout import CheckRoom
from binnacle.checks.prepared_rooms import ChangeRoom, PreparedRooms
from binnacle.checks.report_files import remove_reports
from binnacle.checks.report_options import request_report
from binnacle.checks.run_observation import observe_run
from binnacle.processes.keeper import Keeper
from binnacle.work.check import Check
from binnacle.work.verdict import CheckRun, describe_exit

Tell = Callable[[str, str], None]
"""Called with the name of a check and what happens: a stage of its run, or the last line that it wrote."""


class SeenRun(Struct, frozen=True, kw_only=True):
    """What was seen of one run, with its output."""

    run: CheckRun
    log: BoundedLog


class SingleRuns:
    """Runs checks of one repository, each time in a room of its own. The keeper owns every process that it starts."""

    def __init__(self, *, repo: str, folder: str, keeper: Keeper, tell: Tell) -> None:
        self._repo = repo
        self._keeper = keeper
        self._tell = tell
        self._rooms = PreparedRooms(repo=repo, folder=folder, keeper=keeper, run_setup=self._run_setup)

    async def run(
        self,
        subject: CheckSubject,
        stage: str,
        commit: str,
        *,
        change: ChangeRoom | None = None,
        laid_over: Collection[str] = (),
    ) -> SeenRun:
        """One run of the check on a commit, in a checkout in which `change` may alter the files `laid_over` first."""
        check = subject.check
        log = BoundedLog(lambda line: self._tell(check.name, line))
        self._tell(check.name, stage)
        path = subject.environment.variables.get("PATH")
        if missing := [one for one in check.needs if shutil.which(one, path=path) is None]:
            return _never_ran(f"a program that it needs is missing: {', '.join(missing)}", log)
        async with self._rooms.open(subject, commit, log=log, change=change) as opened:
            if opened.fault:
                return _never_ran(opened.fault, log)
            room = opened.room
            watch, others = await watch_checkout(self._repo, commit, room, change=change, laid_over=laid_over)
            if others:
                return _never_ran(describe_changed(others, "before the check ran"), log)
            seen = await self._run_in(subject, room, log)
            changed = await watch.list_changed()
            doubt = describe_changed(changed, "while the check ran") if changed else ""
            return SeenRun(run=replace(seen, doubt=doubt), log=log)

    async def _run_in(self, subject: CheckSubject, room: CheckRoom, log: BoundedLog) -> CheckRun:
        check = subject.check
        env = subject.environment.variables_in(room)
        canary = write_canary(room.outside, repo=self._repo, tree=room.tree)
        file = os.path.join(room.outside, f"{secrets.token_hex(8)}.report")
        request = request_report(
            check.words, file=file, plugin=canary.plugin, plugin_folder=canary.folder, written=check.report
        )
        if request.written:
            await asyncio.to_thread(remove_reports, room.tree, request.written)
        if request.takes_canary:
            env["PYTHONPATH"] = canary.folder
            log.hide_lines((*canary.files, file))
        log.begin_command()
        end = await run_bounded(
            self._keeper,
            request.words,
            cwd=room.tree,
            env=env,
            timeout=check.timeout,
            log=log,
            memory=check.memory << 20,
        )
        return await asyncio.to_thread(observe_run, end, request, canary, log, room.tree, check)

    async def _run_setup(self, check: Check, room: CheckRoom, environment: CheckEnvironment, log: BoundedLog) -> str:
        """Prepares a checkout. Returns why that failed; empty if it did not."""
        self._tell(check.name, "preparing the checkout")
        end = await run_bounded(
            self._keeper, check.setup, cwd=room.tree, env=environment.variables_in(room), timeout=check.timeout, log=log
        )
        if end.is_timeout:
            return f"its setup took longer than {check.timeout:g} s"
        if end.fault or end.exit:
            return f"its setup failed: {end.fault or describe_exit(end.exit)}"
        return ""


def _never_ran(fault: str, log: BoundedLog) -> SeenRun:
    return SeenRun(run=CheckRun(fault=fault), log=log)
