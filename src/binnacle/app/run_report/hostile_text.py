"""Makes text of agents, tasks and paths harmless in Markdown and HTML: it can say anything, and change nothing else."""

import html
import re

from binnacle.wire.hidden_text import remove_hidden

_MARKDOWN = re.compile(r"[\\`*_\[\]<>|#~&$]")
_LINE_START = re.compile(r"^(\d+(?=[.)](?:\s|$))|)([-+=.)])")
"""What begins a list, or underlines a heading."""

_PLAIN_CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._/@+:=,-]*")
_BACKTICKS = re.compile(r"`+")


def clean_line(text: str) -> str:
    """Text in one line, with nothing in it that a reader cannot see."""
    return " ".join(_clean(text).split())


def clean_lines(text: str) -> list[str]:
    """Text in lines, with nothing in it that a reader cannot see."""
    return _clean(text).expandtabs(4).splitlines()


def _clean(text: str) -> str:
    # A path that is not UTF-8 has lone surrogates, which no file takes.
    return remove_hidden(text.encode("utf-8", "replace").decode())


def markdown(text: str) -> str:
    """Text as one line of Markdown that shows exactly this text. Links and images are shown with their targets."""
    line = _MARKDOWN.sub(lambda found: f"\\{found[0]}", clean_line(text))
    return _LINE_START.sub(r"\1\\\2", line)


def markdown_code(text: str) -> str:
    """A name, an id or a path in Markdown: as code if it is an ordinary one, or else as text."""
    line = clean_line(text)
    return f"`{line}`" if _PLAIN_CODE.fullmatch(line) else markdown(line)


def markdown_block(text: str) -> list[str]:
    """Lines of text as a block of code, which nothing in them can end."""
    longest = max((len(found) for found in _BACKTICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}text", *clean_lines(text), fence]


def html_text(text: str) -> str:
    """Text as one line for an element or an attribute of a page."""
    return html.escape(clean_line(text))


def html_lines(text: str) -> str:
    """Text with its lines, for an element that keeps them."""
    return html.escape("\n".join(clean_lines(text)))
