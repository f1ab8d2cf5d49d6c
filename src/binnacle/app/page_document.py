"""A page in one file: no script, nothing from elsewhere, and a policy that says so. Runs and tasks are shared as such.

It can be read on a phone, in the dark and on paper. Text of agents and tasks is escaped and has no links.
"""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256

from binnacle.app.run_report.hostile_text import html_lines, html_text
from binnacle.app.run_report.page_style import STYLE


def render_document(title: str, parts: Iterable[str]) -> str:
    """The file as one text. The title is plain text, the parts are elements."""
    digest = b64encode(sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="referrer" content="no-referrer">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{html_text(title)}</title>",
            f"<style>{STYLE}</style>",
            "</head>",
            "<body>",
            "<main>",
            *parts,
            "</main>",
            "</body>",
            "</html>",
            "",
        ]
    )


def section(title: str, content: str) -> str:
    return f"<section><h2>{title}</h2>{content}</section>"


def fold(title: str, content: str) -> str:
    """Something that is shown when somebody opens it."""
    return f"<details><summary>{title}</summary>{content}</details>"


def code(text: str) -> str:
    """A name, an id or a path; nothing if it is empty."""
    return f"<code>{html_text(text)}</code>" if text else ""


def quote(text: str) -> str:
    """What somebody wrote, with its lines; nothing if it is empty."""
    return f"<blockquote>{html_lines(text)}</blockquote>" if text.strip() else ""


def fact_cards(facts: Iterable[tuple[str, str]]) -> str:
    """Names with their values, side by side."""
    return f'<dl class="cards">{"".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts)}</dl>'


def entries(items: Iterable[str], *, empty: str = "") -> str:
    """A list of elements, or what is said if there is none."""
    found = "".join(f"<li>{item}</li>" for item in items)
    return f'<ul class="entries">{found}</ul>' if found else empty


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{name}</th>" for name in headings)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    label = ", ".join(headings)
    # Who scrolls by keys must be able to have the focus in it.
    shown = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide" role="group" tabindex="0" aria-label="{label}">{shown}</div>'
