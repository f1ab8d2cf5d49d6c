"""`bn search`: full text over everything written."""

from argparse import Namespace

from binnacle.cli.command import CommandAnswer, Group, arg, reads
from binnacle.cli.context import Context
from binnacle.cli.paging import limit_arg, say_how_many_more
from binnacle.cli.screen import Screen, mark_status
from binnacle.store.views.search import SearchHit, count_hits, find_text

SEARCH = Group("search")


class SearchAnswer(CommandAnswer):
    """What was found, the best first, and how much there is."""

    hits: list[SearchHit]
    total: int


def _show(answer: SearchAnswer, screen: Screen) -> None:
    if not answer.hits:
        screen.line("nothing found; fewer words find more")
        return
    rows = (
        (
            hit.id,
            hit.entity,
            mark_status(hit.status) if hit.status else "",
            hit.title or hit.snippet,
            hit.title and hit.snippet,
        )
        for hit in answer.hits
    )
    screen.table(rows, flexible=4, headings=("ID", "WHAT", "STATUS", "TITLE", "TEXT"))
    screen.line(f"{answer.total} found")
    say_how_many_more(len(answer.hits), answer.total, screen)


@SEARCH.command(
    "",
    "find what contains all the words, or words that begin with them; best match first",
    "bn search login token -H",
    arg("words", nargs="+", help="what to search for"),
    arg("--in", dest="entity", choices=("task", "comment", "note", "learning"), help="only in these"),
    limit_arg(20),
    view=_show,
    needs=reads("task_search"),
)
def search(context: Context, args: Namespace) -> SearchAnswer:
    text = " ".join(args.words)
    with context.reading() as tx:
        hits = find_text(tx, text, entity=args.entity, limit=args.limit)
        total = len(hits) if len(hits) < args.limit else count_hits(tx, text, entity=args.entity)
    return SearchAnswer(hits=hits, total=total)
