"""What the run of the demo leaves: its store, its commits, its transcripts, and the page on them."""

import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import tour

from web.served_gui import ServedGui

RUN_SECONDS = 300


class DemoProject:
    """The shop of the demo after its run. Leaving the block ends its page and removes it."""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            folder, self.env = stack.enter_context(tour.repository())
            self.repo = Path(folder)
            for _, command in tour.STEPS:
                if command.startswith(("bn check", "bn run")):
                    self._do(command.split())
            self.gui = stack.enter_context(ServedGui(self.repo, env=self.env))
            self._stack = stack.pop_all()
        return self

    def _do(self, words: list[str]) -> None:
        done = subprocess.run(
            words, cwd=self.repo, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=RUN_SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr

    def __exit__(self, *_: object) -> None:
        self._stack.close()
