"""`bn cost`: what runs spent, and what their budgets were."""

from argparse import Namespace

from binnacle.cli.command import READS, CommandAnswer, Group, arg
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen
from binnacle.store import runs
from binnacle.store.views.spending import (
    SPENDING_KEYS,
    BudgetUse,
    SpendingKey,
    SpendingLine,
    list_budget_use,
    list_spending,
    total_spending,
)

COST = Group("cost")


class CostAnswer(CommandAnswer, kw_only=True):
    """What was spent, line by line and altogether."""

    by: str
    lines: list[SpendingLine]
    total: SpendingLine
    run: str | None = None
    """The run that was asked for."""

    name: str | None = None
    seconds: float | None = None
    """How long that run was driven, over all machines and resumes."""

    budget: list[BudgetUse] | None = None
    """Its limits, and how much of them is used."""


def _show(answer: CostAnswer, screen: Screen) -> None:
    from binnacle.work.amounts import describe_budget, describe_seconds

    if answer.name:
        screen.heading(f"{answer.name}  {answer.run}")
    if not answer.lines:
        screen.line("nothing was spent; agents work with: bn run SPEC")
        return
    rows = [_row(line) for line in (*answer.lines, answer.total)]
    screen.table(rows, flexible=1, headings=(answer.by.upper(), "", "ITERATIONS", "TIME", "TOKENS", "COST"))
    if answer.seconds is not None:
        screen.line()
        screen.line(f"the run was driven for {describe_seconds(answer.seconds)}")
    for one in answer.budget or ():
        screen.line(f"budget: {describe_budget(one.kind, one.used, one.limit)} ({one.share:.0%})")


def _row(line: SpendingLine) -> tuple[str, ...]:
    from binnacle.work.amounts import describe_cost, describe_seconds, describe_tokens

    cost = describe_cost(line.cost, iterations=line.iterations, reported=line.iterations_with_cost)
    time, tokens = describe_seconds(line.seconds), describe_tokens(line.tokens)
    return line.key, line.title, str(line.iterations), time, tokens, cost


@COST.command(
    "",
    "what runs spent: time, tokens and cost as far as agents report them",
    "bn cost; bn cost auth --by model; bn cost --by day --since 7d",
    arg("run", nargs="?", metavar="RUN", help="only this run: its name, its id or one of its sessions"),
    arg("--by", choices=SPENDING_KEYS, help="a line for each run (default), or for each task (default for one run) …"),
    arg("--since", metavar="TIME", help="only iterations begun since then: 2026-11-15, or 90m, 12h, 7d ago"),
    view=_show,
    needs=READS,
)
def show(context: Context, args: Namespace) -> CostAnswer:
    from binnacle.cli.dates import parse_moment

    since = parse_moment(args.since) if args.since else None
    by: SpendingKey = args.by or ("task" if args.run else "run")
    with context.reading() as tx:
        run = runs.find(tx, args.run) if args.run else None
        run_id = run.id if run else None
        return CostAnswer(
            by=by,
            lines=list_spending(tx, by, run_id=run_id, since=since),
            total=total_spending(tx, run_id=run_id, since=since),
            run=run_id,
            name=run.name if run else None,
            seconds=round(run.seconds, 1) if run else None,
            budget=list_budget_use(tx, run) or None if run else None,
        )
