"""Our section of AGENTS.md: what an agent in this repository should know about `bn`."""

from binnacle.config.clients.config_text import ConfigText, append_block, cut_block

BEGIN = "<!-- BEGIN BINNACLE -->"
END = "<!-- END BINNACLE -->"

SECTION = f"""\
{BEGIN}
## Work is kept in Binnacle

The tasks of this repository are in `bn`, not in files. In a pipe it answers in JSON; `--json`
forces that, `-H` is for people, `--help` explains.

- Begin: `bn orient` registers you and shows the state of the project.
- Find work: `bn ready` lists what can be taken now, `bn task show ID` shows a task, `bn search WORDS` searches all
  text.
- Claim before you begin: `bn next --claim` takes the next task, `bn task start ID` a certain one. No one else gets it.
- Keep the history: `bn task comment ID 'what was tried, with the result'`.
- Finish: `bn task done ID -m 'the result'`. When you are blocked: `bn task block ID -m 'what blocks you'`.
  When you stop early: `bn task release ID`.
- Found more to do? `bn task add 'a title' --after ID` instead of doing it now.
- Found something out? `bn learning add 'one sentence'`; `bn learning list` shows what others found.
{END}"""


def put(source: ConfigText) -> str:
    """The text with our section, where it was or at the end."""
    span = _span(source)
    if span is None:
        return append_block(source, SECTION)
    start, end = span
    return source.text[:start] + SECTION.replace("\n", source.newline) + source.text[end:]


def take(source: ConfigText) -> str:
    """The text without our section."""
    span = _span(source)
    return cut_block(source.text, *span) if span else source.text


def _span(source: ConfigText) -> tuple[int, int] | None:
    """The start and end of the section.

    Raises:
        ConfigError: one marker is missing, or there are several.
    """
    text = source.text
    start, end = text.find(BEGIN), text.find(END)
    if start < 0 and end < 0:
        return None
    if start < 0 or end < start or text.count(BEGIN) > 1 or text.count(END) > 1:
        hint = f"leave one {BEGIN} and one {END} after it, or none"
        raise source.fault("the markers of Binnacle's section do not match", at=start if start >= 0 else end, hint=hint)
    return start, end + len(END)
