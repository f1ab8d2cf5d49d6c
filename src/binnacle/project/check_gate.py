"""The checks of a project as the gate before `done` sees them (`work.done_gate`).

What a person trusted stays required, whatever happens to the file of the checks: it is in a folder that agents edit. A
check that was changed or removed since cannot be run, and nothing that needs it is done until a person has looked.
"""

import os
from collections.abc import Sequence

from binnacle.work.done_gate import TrustedCheck
from binnacle.work.review_policy import NO_REVIEWS, ReviewPolicy

_KIND = "check:"


def find_gate_checks(repo: str) -> Sequence[TrustedCheck]:
    """Every check of a project that a person has trusted, also those that are changed or gone.

    Raises:
        ConfigError: a file cannot be read. Nothing that needs a proof may be done then.
    """
    from binnacle.config.directories import trust_file

    if not os.path.lexists(trust_file()):  # most projects have no checks, and reading files takes time
        return ()
    from binnacle.config.trust import find_trusted, state_of

    known = find_trusted(repo)
    policies = {f"{_KIND}protect", f"{_KIND}review"}
    names = [key.removeprefix(_KIND) for key in known if key.startswith(_KIND) and key not in policies]
    if not names:
        return ()
    from binnacle.project.check_file import find_checks, trust_item_of

    written = {check.name: check for check in find_checks(repo)}
    found: list[TrustedCheck] = []
    for name in names:
        check = written.get(name)
        is_as_trusted = check is not None and state_of(trust_item_of(check), known) == "trusted"
        found.append(
            TrustedCheck(
                name=name,
                definition=check.definition_hash if check is not None and is_as_trusted else "",
                problem="" if is_as_trusted else _describe_problem(name, is_there=check is not None),
                # What was trusted says when it has to pass, and not the file as it is now.
                is_for_all="tier: full" not in known[f"{_KIND}{name}"].content.split("\n"),
                has_paths=is_as_trusted and check is not None and bool(check.paths),
            )
        )
    return found


def find_gate_reviews(repo: str) -> ReviewPolicy:
    """Who has to look at changes, as a person trusted it last.

    Raises:
        ConfigError: what was trusted cannot be read. Nothing may be done then.
    """
    from binnacle.config.directories import trust_file

    if not os.path.lexists(trust_file()):
        return NO_REVIEWS
    from binnacle.project.review_rules import find_review_policy

    return find_review_policy(repo)


def _describe_problem(name: str, *, is_there: bool) -> str:
    if is_there:
        return f"the check {name!r} was changed since a person trusted it, who can look at it with: bn trust check"
    return (
        f"the trusted check {name!r} is gone from .binnacle/checks.yaml; a person can forget it with: bn trust revoke"
    )
