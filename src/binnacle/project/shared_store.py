"""Opens a store in PostgreSQL, and finds the fingerprints that identify the repository there."""

import os
from datetime import timedelta

from binnacle.config.directories import Place
from binnacle.config.git_config import read_origin
from binnacle.config.identity_files import read_kept, remember_root, settle
from binnacle.project.project import Project
from binnacle.store.engines.project_schema import SchemaTenant
from binnacle.store.opening import open_postgres
from binnacle.store.store import Store
from binnacle.store.transaction import StoreOutlook

GIT_TIMEOUT_SECONDS = 20.0
"""Time to find the first commit in a long history. Without an answer, the other fingerprints must suffice."""


def open_shared(project: Project, *, timeout: float, lease: timedelta, outlook: StoreOutlook, outage: float) -> Store:
    """The project's store in the database that `store.url` names."""
    settings = project.settings
    url = settings.text("store.url")
    if schema := settings.text("store.schema"):
        return open_postgres(url, schema=schema, timeout=timeout, lease=lease, outlook=outlook, outage=outage)
    named = settings.text("store.project").strip()
    settle(project.place, project.identity)
    tenant = SchemaTenant(
        name=named or default_name(project.repo), is_named=bool(named), fingerprints=find_fingerprints(project)
    )
    return open_postgres(url, schema=tenant, timeout=timeout, lease=lease, outlook=outlook, outage=outage)


def default_name(repo: str) -> str:
    """The default name of a project in the database."""
    name = os.path.basename(repo).removesuffix(".git").encode("utf-8", "replace").decode()
    return "".join(c if c.isalnum() or c in "._-" else "-" for c in name).strip(".-").lower()[:40] or "project"


def find_fingerprints(project: Project) -> frozenset[str]:
    """What identifies the repository on every machine: its first commit, its origin, its random mark."""
    place = project.place
    kept = read_kept(place, project.id)
    mark, root = (kept.mark, kept.root) if kept else ("", "")
    if not root:
        root = _find_root(place)
        remember_root(place, root)
    origin = read_origin(place.git_dir) if place.git_dir else ""
    found = {"root": root, "origin": origin, "mark": mark}
    known = frozenset(f"{name}:{value}" for name, value in found.items() if value)
    return known or frozenset({f"path:{os.uname().nodename}:{project.repo.encode('utf-8', 'replace').decode()}"})


def _find_root(place: Place) -> str:
    """The first commit in the first-parent history of HEAD; empty if there is none, or the clone is shallow."""
    if place.git_dir is None or os.path.exists(os.path.join(place.git_dir, "shallow")):
        return ""
    import subprocess

    command = ["git", "--git-dir", place.git_dir, "rev-list", "--max-parents=0", "--first-parent", "HEAD", "--"]
    try:
        asked = subprocess.run(command, capture_output=True, timeout=GIT_TIMEOUT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return asked.stdout.decode("ascii", "replace").strip() if asked.returncode == 0 else ""
