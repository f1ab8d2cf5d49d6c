"""The two pages that are shown without the built page: one that leads into it, and one that says how to sign in."""

from html import escape

from binnacle.server.http_exchange import HttpExchange, HttpReply
from binnacle.web.endpoint_calls import PageError, reply_with

PAGE = "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"

NOT_SIGNED_IN = "sign in with a link from: bn gui --link"


def page_without_cookie(exchange: HttpExchange, *, is_used: bool = False) -> HttpReply:
    """The answer to who is not signed in: a page for people, JSON for scripts. The link of the page may be used up."""
    if exchange.path.startswith("/api/") or exchange.headers.get("sec-fetch-dest", "document") != "document":
        return reply_with(PageError(code="E_SIGN_IN", message="not signed in", hint=NOT_SIGNED_IN), 401)
    first = "This link was used before, or it has expired." if is_used else "This browser is not signed in."
    # A browser sends no cookie of ours when a link on another site leads here, but it does when our own page does.
    again = exchange.headers.get("sec-fetch-site") in ("cross-site", "same-site")
    refresh = "<meta http-equiv=refresh content=0>" if again else ""
    text = (
        f"{PAGE}{refresh}<title>Sign in · Binnacle</title><h1>Sign in</h1><p>{first}</p>"
        "<p>Run this in a terminal on the same machine, and open the link that it prints. It works once.</p>"
        "<pre>bn gui --link</pre><p>If no page is served any more, start it with <code>bn gui</code>.</p>"
    )
    return HttpReply(401, text.encode(), content_type="text/html; charset=utf-8", cache_control="no-store")


def page_with_cookie(target: str, **headers: str) -> HttpReply:
    """Leads to an address of the page, with the cookie.

    Not by a redirect: after a click in another site or program, a browser sends the cookie only when our own page
    leads there.
    """
    shown = escape(target)
    text = (
        f"{PAGE}<meta http-equiv=refresh content='0;url={shown}'><title>Binnacle</title>"
        f"<p>Signed in. <a href='{shown}'>Open the page</a>.</p>"
    )
    body = text.encode("utf-8", "replace")
    return HttpReply(200, body, content_type="text/html; charset=utf-8", cache_control="no-store", **headers)
