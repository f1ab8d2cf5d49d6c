"""`bn gui`: the page for people."""

import gc
import os
import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from binnacle.cli.command import READS, CommandAnswer, CommandNeeds, Group, arg, by_person
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen
from binnacle.errors import NotFound, UsageError

if TYPE_CHECKING:
    from binnacle.web.served_pages import ServedPage

GUI = Group("gui")

READS_ONLY = arg("--readonly", action="store_true", help="a page that changes nothing")


class PageLinkAnswer(CommandAnswer):
    """A link to a page that is served, which signs a browser in once."""

    url: str
    port: int
    pid: int
    """The process that serves it."""


def _show_link(answer: PageLinkAnswer, screen: Screen) -> None:
    screen.line(answer.url)


def _needs(args: Namespace) -> CommandNeeds:
    """An agent may serve a page that changes nothing; what it shows, its tools show too."""
    return READS if args.readonly and not args.link else by_person("open the page")


@GUI.command(
    "",
    "serve the page for people on this machine, and open it in the browser; a link that works once signs in",
    "bn gui --no-open",
    arg("--port", type=int, metavar="N", help="where to serve it (7427, or a free one if that is taken); 0 for any"),
    arg("--no-open", action="store_true", help="print the link, and open no browser"),
    READS_ONLY,
    arg("--project", dest="projects", action="append", default=[], metavar="DIR",
        help="another project that it shows from the start; may be repeated"),
    arg("--link", action="store_true", help="print another link to the page that is served already"),
    view=_show_link,
    needs=_needs,
)  # fmt: skip
def gui(context: Context, args: Namespace) -> PageLinkAnswer | None:
    if args.port is not None and not 0 <= args.port <= 65535:
        raise UsageError(f"bn gui: not a port: {args.port}", hint="1 to 65535, or 0 for a free one")
    if args.link:
        return _describe(_find_served(args.port))
    # What is imported stays; collecting garbage in between only costs time.
    gc.disable()
    import asyncio

    from binnacle.project.project import require_project
    from binnacle.web.page_projects import key_of
    from binnacle.web.page_serving import PageRequest, find_projects, serve_page

    home = require_project(context.start)
    request = PageRequest(
        projects=find_projects(home, args.projects),
        workspace=context.workspace,
        port=args.port,
        is_readonly=args.readonly,
    )
    key = key_of(home.id)
    asyncio.run(serve_page(request, on_ready=lambda link: _announce(link, key, context, opens=not args.no_open)))
    return None


def _find_served(port: int | None) -> "ServedPage":
    from binnacle.web.served_pages import list_served_pages

    served = [page for page in list_served_pages() if port in (None, page.port)]
    if not served:
        raise NotFound("no page is served" if port is None else f"no page is served on port {port}", hint="bn gui")
    if len(served) > 1:
        ports = ", ".join(str(page.port) for page in served)
        raise UsageError(f"several pages are served, on the ports {ports}", hint="choose one with --port")
    return served[0]


def _describe(page: "ServedPage") -> PageLinkAnswer:
    from binnacle.web.page_serving import make_link

    return PageLinkAnswer(url=make_link(page.port), port=page.port, pid=page.pid)


def _announce(link: str, project: str, context: Context, *, opens: bool) -> None:
    """Says where the page is, once it is served, and opens it where there is a browser."""
    gc.freeze()
    gc.enable()
    import msgspec

    line = (
        link if context.human else msgspec.json.encode({"url": link, "project": project, "pid": os.getpid()}).decode()
    )
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
    if context.human:
        sys.stderr.write("the link works once; Ctrl-C ends the page\n")
    if opens:
        from binnacle.web.browser_opening import open_page

        open_page(link)
