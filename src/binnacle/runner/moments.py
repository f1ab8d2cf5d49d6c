"""Runs the hooks of a project at their moments in a run, and says what came of them."""

from binnacle.errors import HookFailed
from binnacle.runner import events
from binnacle.runner.desk import Seat
from binnacle.runner.hooking import Occasion, piped
from binnacle.runner.hooks import Event
from binnacle.runner.job import Job


async def run_hooks(
    job: Job,
    moment: Event,
    seat: Seat,
    *,
    iteration: int | None = None,
    task_id: str = "",
    task_title: str = "",
    error: str = "",
) -> str:
    """Runs the hooks of a moment; what the agent is to be told of what they wrote.

    Raises:
        HookFailed: one failed that must not.
    """
    about = Occasion(
        run=job.options.name,
        session=seat.session,
        iteration=iteration,
        task_id=task_id,
        task_title=task_title,
        error=error,
    )
    outcomes = await job.hooks.run(moment, about, cwd=seat.cwd)
    for one in outcomes:
        said = "" if one.is_ok else one.told
        job.tell(events.HookRan(worker=seat.number, hook=moment, command=one.hook.words, is_ok=one.is_ok, said=said))
        if one.stops:
            hint = f"mend it, or take `required` away from it in {one.hook.place}; then: bn run --resume"
            raise HookFailed(f"a hook failed that must not: {one.told}", hint=hint)
    return piped(outcomes)
