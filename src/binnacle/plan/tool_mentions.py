"""Sentences that name tools, shown only if the session has the tools.

A wording names a tool as `{task_get}`, by its own name. The rendered text shows the tool's name in the
session, and a wording is shown only if the session has all of its tools.
"""

import re
from collections.abc import Collection, Iterable, Mapping

Step = tuple[str, ...]
"""Wordings of one sentence or step, the preferred first. The first one whose tools the session has is used."""

_PLACEHOLDER = re.compile(r"\{([a-z][\w-]*)\}")
_WORD = re.compile(r"[A-Za-z]\w*(?:-\w+)*")

_BLOCK = re.compile(r"\n(?=\s*\n|[ \t]*(?:[-*+•>|]\s|#+\s|\d+[.)]\s))")
"""Where a paragraph, a list item or a heading begins. Other line ends are those of wrapped sentences."""

_MARK = re.compile(r"\s*(?:[-*+•>]\s+|#+\s+|\d+[.)]\s+)?")
_SENTENCE = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?=\s+[^\sa-z])")


def tools_in(step: Step) -> frozenset[str]:
    """The own names of the tools that the wordings of a step name."""
    return frozenset(name for wording in step for name in _PLACEHOLDER.findall(wording))


def bare_names(wording: str) -> list[str]:
    """The words outside of placeholders that may be names of tools."""
    return [word for word in _WORD.findall(_PLACEHOLDER.sub("", wording)) if _looks_like_tool(word)]


def render(steps: Iterable[Step], names: Mapping[str, str]) -> list[str]:
    """Each step in the first of its wordings whose tools the session has. Steps without one are left out.

    `names` are the tools of the session: own name → shown name.
    """
    found = (next((one for one in step if names.keys() >= tools_in((one,))), None) for step in steps)
    return [_PLACEHOLDER.sub(lambda match: f"`{names[match[1]]}`", one) for one in found if one is not None]


def keep_known(text: str, names: Mapping[str, str], all_names: Collection[str]) -> str:
    """`text` without the sentences that name a tool which the session lacks.

    A tool's own name is replaced by its name in the session. Only words with `_` or `-` count as names of
    tools: `done` is a word.
    """
    shown = {own: name for own, name in names.items() if _looks_like_tool(own)}
    unknown = {name for name in all_names if _looks_like_tool(name)} - shown.keys() - set(names.values())
    blocks = (_keep_block(block, unknown) for block in _BLOCK.split(text))
    kept = "\n".join(block for block in blocks if block is not None).strip()
    return _WORD.sub(lambda match: shown.get(match[0], match[0]), kept)


def _keep_block(block: str, unknown: Collection[str]) -> str | None:
    """What is left of a block; None if no sentence is left."""
    mark = _MARK.match(block)
    assert mark is not None
    sentences = _SENTENCE.split(block[mark.end() :])
    kept = [one for one in sentences if not any(word in unknown for word in _WORD.findall(one))]
    if len(kept) == len(sentences):
        return block
    return mark[0] + "".join(kept).strip() if kept else None


def _looks_like_tool(name: str) -> bool:
    return "_" in name or "-" in name
