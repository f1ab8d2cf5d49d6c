"""How files differ, for people: which files, then their lines with the numbers that a comment names."""

from binnacle.cli.review_answer import ShownDiff
from binnacle.cli.screen import Screen
from binnacle.cli.visible_text import visible
from binnacle.work.diff import FileDiff, number_lines
from binnacle.work.gaming import classify_path

STATUS_LETTERS = {"added": "A", "removed": "D", "renamed": "R", "changed": "M", "binary": "B"}
LINE_STYLES = {"+": "green", "-": "red", "@": "cyan", "\\": "dim"}
NUMBER_WIDTH = 7
"""Of a line's number and the space after it, as `number_lines` writes them."""

MAX_LISTED_FILES = 300
TAB = 4


def show_diff(diff: ShownDiff, screen: Screen, *, show: str) -> None:
    """Shows which files differ and how. `show` is the command that shows more of it."""
    screen.line()
    if diff.problem:
        screen.line(f"{screen.styled('!', 'yellow')} the code cannot be shown: {visible(diff.problem)}")
        return
    total = len(diff.files) + diff.left_out
    count = "1 file" if total == 1 else f"{total} files"
    screen.heading(f"Files {diff.since}: {count}, +{diff.added} -{diff.removed}")
    _list_files(diff, screen)
    for one in diff.files:
        if one.text or one.folded:
            screen.line()
            _show_file(one, screen, show=show)
    if not diff.files:
        screen.line("  nothing was changed")


def _list_files(diff: ShownDiff, screen: Screen) -> None:
    for one in diff.files[:MAX_LISTED_FILES]:
        facts = [classify_path(one.path) or classify_path(one.before or one.path) or "", one.note]
        facts += [f"folded: {one.folded}" if one.folded else ""]
        said = ", ".join(fact for fact in facts if fact)
        counts = f"  +{one.added} -{one.removed}" if one.status != "binary" else ""
        screen.line(f"  {STATUS_LETTERS[one.status]} {_name(one)}{counts}{f'  ({said})' if said else ''}")
    hidden = len(diff.files) - MAX_LISTED_FILES
    if diff.left_out or hidden > 0:
        screen.line(screen.styled(f"  … {diff.left_out + max(0, hidden)} more files", "dim"))


def _show_file(one: FileDiff, screen: Screen, *, show: str) -> None:
    screen.heading(f"─── {_name(one)}{f' ({one.note})' if one.note else ''}")
    if one.folded:
        what = "it is not text" if one.status == "binary" else f"folded: {one.folded}"
        more = "" if one.status == "binary" else f"; see it: {show} --path {_quote(one.path)}"
        screen.line(screen.styled(f"  {what}{more}", "dim"))
        return
    for line in number_lines(one.text).split("\n"):
        kind = line[:1] if line.startswith("@@ ") else line[NUMBER_WIDTH : NUMBER_WIDTH + 1]
        shown = visible(line.expandtabs(TAB)) if line.startswith("@@ ") else _align(line)
        screen.line(screen.styled(shown, LINE_STYLES.get(kind, "")))


def _align(line: str) -> str:
    """A numbered line, whose tabs count from the beginning of the code."""
    head, code = line[: NUMBER_WIDTH + 1], line[NUMBER_WIDTH + 1 :]
    return visible(f"{head}{code.expandtabs(TAB)}")


def _name(one: FileDiff) -> str:
    return f"{visible(one.before)} → {visible(one.path)}" if one.before else visible(one.path)


def _quote(path: str) -> str:
    from shlex import quote

    return quote(visible(path))
