"""What a command works with: its project and store, opened when first used."""

import os
import sys
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

from binnacle.cli.output import Format, is_for_person

if TYPE_CHECKING:
    from binnacle.plan.rights import SessionRights
    from binnacle.project.project import Project
    from binnacle.store.store import Store
    from binnacle.store.transaction import Reader, Writer
    from binnacle.work.actor import Actor
    from binnacle.work.session import Session


class Context:
    """One run of `bn`. Closing it closes the store."""

    def __init__(self, *, repo: str | None, asked: Format | None) -> None:
        self.start = repo
        self.asked = asked
        """What the command line says about the form of the answer."""

        self.human = is_for_person(asked, sys.stdout)
        """Whether the answer is for a person to read."""

        self.exit_code = 0
        """What the process ends with when the command was carried out; an error ends it with 1 or 2."""

        self._project: Project | None = None
        self._store: Store | None = None
        self._session: Session | None = None
        self._rights: tuple[SessionRights | None] | None = None

    @property
    def project(self) -> "Project":
        if self._project is None:
            from binnacle.project.project import find_project

            self._project = find_project(self.start)
        return self._project

    @property
    def workspace(self) -> str:
        """The folder that the caller works in."""
        return os.path.abspath(self.start or os.getcwd())

    @property
    def session(self) -> "Session":
        """Who runs the command, and where."""
        if self._session is None:
            from binnacle.sessions.shell_session import find_session

            self._session = find_session(self.project, self._store)
        return self._session

    @property
    def actor(self) -> "Actor":
        return self.session.actor

    @property
    def rights(self) -> "SessionRights | None":
        """What the session that runs the command may do; None where it may do all that is not left to people."""
        if self._rights is None:
            self._rights = (self._find_rights(),)
        return self._rights[0]

    def _find_rights(self) -> "SessionRights | None":
        if not self._is_kept():
            return None  # where nothing was ever kept, there is no session
        from binnacle.sessions.shell_rights import find_rights

        project = self.project

        with self.store(create=True).read() as tx:
            return find_rights(project, tx)

    def _is_kept(self) -> bool:
        return bool(self.project.settings.text("store.url")) or os.path.exists(self.project.store_file)

    def check_at_home(self) -> None:
        """Refuses the agent of a session of another project.

        Raises:
            Refused: it runs in the shell of one.
        """
        from binnacle.tools.planned_session import check_at_home

        if not self._is_kept():
            return check_at_home(None)
        with self.store(create=True).read() as tx:
            return check_at_home(tx)

    def store(self, *, create: bool, outage: float = 0.0) -> "Store":
        """The project's store. Reading does not create one that is not there.

        A database that goes away is waited for `outage` seconds.
        """
        if self._store is None:
            from binnacle.project.store_opening import open_store

            self._store = open_store(self.project, workspace=self.workspace, create=create, outage=outage)
        return self._store

    def reading(self) -> "AbstractContextManager[Reader]":
        """A consistent view of the store, in which no lapsed claim is left standing."""
        from binnacle.store.abandoned_work import read_current

        return read_current(self.store(create=False))

    @contextmanager
    def writing(self, *, claim: bool = False) -> "Generator[Writer]":
        """A change, recorded under the caller of the command."""
        store = self.store(create=True)
        begin = store.claim if claim else store.write
        session = self.session
        with begin(by=session.actor, session=session.id) as tx:
            if tx.by.kind == "agent":
                from binnacle.store.agents import confirm

                confirm(tx, is_sign_of_life=True)
            yield tx

    def reread(self) -> None:
        """Has the project looked at again: its settings may be others now."""
        self.close()
        self._project = self._session = None

    def read_input(self, name: str) -> str:
        """The text of a file, or of standard input for `-`."""
        if name == "-":
            return sys.stdin.read()
        try:
            with open(name, encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError as error:
            from binnacle.errors import InvalidInput

            raise InvalidInput(f"cannot read {name!r}: {error.strerror}", hint="give a file, or - for stdin") from error

    def close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None
