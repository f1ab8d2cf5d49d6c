"""Real repositories for the tests of the runner."""

import os
import subprocess
from pathlib import Path
from typing import Any

WHO = {"GIT_AUTHOR_NAME": "Ann", "GIT_AUTHOR_EMAIL": "ann@example.org"}
WHO |= {name.replace("AUTHOR", "COMMITTER"): value for name, value in WHO.items()}


class Repository:
    """A repository of git, and what a person does in it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def new(cls, path: Path, files: dict[str, str] | None = None) -> "Repository":
        """With a first commit of `files`, if there are any."""
        subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(path)], check=True, timeout=60)
        made = cls(path)
        if files:
            made.commit("first", files)
        return made

    def git(self, *words: str, check: bool = True, **options: Any) -> str:
        env = {**os.environ, **WHO, **options.pop("env", {})}
        done = subprocess.run(
            ["git", *words], cwd=self.path, env=env, capture_output=True, text=True, timeout=60, check=False, **options
        )
        assert done.returncode == 0 or not check, done.stderr
        return done.stdout.strip()

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = self.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def commit(self, message: str, files: dict[str, str]) -> str:
        self.write(files)
        self.git("add", "--", *files)
        self.git("commit", "--quiet", "-m", message)
        return self.git("rev-parse", "HEAD")

    def read(self, name: str) -> str:
        return (self.path / name).read_text()

    def at(self, revision: str, name: str) -> str:
        """A file as it is in a commit."""
        return self.git("show", f"{revision}:{name}")

    def files(self, revision: str = "HEAD") -> list[str]:
        return self.git("ls-tree", "-r", "--name-only", revision).splitlines()

    @property
    def status(self) -> str:
        return self.git("status", "--porcelain")
