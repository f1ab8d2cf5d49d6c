"""Tries hooks outside of a run, as a run would use them."""

from collections.abc import Sequence

from binnacle.config.trust import is_trusted
from binnacle.errors import Refused
from binnacle.processes.keeper import Keeper
from binnacle.runner.hooks.hook_file import Hook, trust_item_of
from binnacle.runner.hooks.hook_runner import HookInput, HookOutcome, run_hook


async def try_hooks(repo: str, hooks: Sequence[Hook], about: HookInput) -> list[HookOutcome]:
    """Runs hooks one after the other in the project. Leaving it early ends what runs, with all it started.

    Raises:
        Refused: nobody has trusted one of them; none was run.
    """
    for hook in hooks:
        if not is_trusted(repo, trust_item_of(hook)):
            hint = f"review and trust it: bn trust hook:{hook.name}"
            raise Refused(f"nobody has trusted {hook.name!r} as it is now", hint=hint)
    async with Keeper() as keeper:
        return [await run_hook(keeper, hook, about, cwd=repo) for hook in hooks]
