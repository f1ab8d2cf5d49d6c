"""The result of running a check on a commit: everything that evidence is made of."""

from msgspec import Struct

from binnacle.work.gaming import ChangeFinding, PolicyDecision
from binnacle.work.verdict import Verdict


class CheckResult(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a check said about a commit, and on what that rests."""

    check: str
    definition: str
    """The hash of the check's definition, which came from the base."""

    commit: str
    tree: str
    base: str = ""
    """The commit that it was compared with; empty if there is none."""

    environment: str
    """The hash of what it ran in: variables, programs and the system."""

    environment_summary: str = ""
    verdict: Verdict
    reason: str = ""
    exit: int | None = None
    ran: int | None = None
    """How many tests ran; None if the runner does not say."""

    passed: tuple[str, ...] = ()
    """All of them, so that a criterion can name one."""

    failed: tuple[str, ...] = ()
    new_failed: tuple[str, ...] = ()
    old_failed: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()
    """Tests that failed, and passed in the second run."""

    findings: tuple[ChangeFinding, ...] = ()
    """What this check saw of changed tests: those that no longer run, those of the base that no longer pass."""

    decision: PolicyDecision = "allow"
    """What the project's policy says to these findings."""

    seconds: float = 0.0
    log: str = ""
    """The path of its output."""

    log_bytes: int = 0
    """How much it wrote, before the log was cut."""

    log_excerpt: str = ""
    """The part of the log that a reader needs first: its last lines."""

    machine: str = ""

    @property
    def opens_gate(self) -> bool:
        """Whether this result lets work be called done without a person."""
        return self.verdict == "pass" and self.decision == "allow"
