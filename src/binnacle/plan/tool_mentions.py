"""Sentences that name tools, kept in step with the tools a session has.

A wording names a tool as `{task_get}`, by its own name. What is rendered shows the name that the session
knows it under, and a wording whose tools are not all there is never shown.
"""

import re
from collections.abc import Collection, Iterable, Mapping

Step = tuple[str, ...]
"""Wordings of one sentence or step, the preferred first: the first one whose tools are all there is used."""

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
    """The words outside of a wording's placeholders that may be names of tools."""
    return [word for word in _WORD.findall(_PLACEHOLDER.sub("", wording)) if _is_telling(word)]


def render(steps: Iterable[Step], names: Mapping[str, str]) -> list[str]:
    """Each step in the first of its wordings whose tools are all there. A step without one is left out.

    `names` are the tools of the session: own name → the name it is shown under.
    """
    found = (next((one for one in step if names.keys() >= tools_in((one,))), None) for step in steps)
    return [_PLACEHOLDER.sub(lambda match: f"`{names[match[1]]}`", one) for one in found if one is not None]


def keep_known(text: str, names: Mapping[str, str], all_names: Collection[str]) -> str:
    """`text` without the sentences that name a tool which the session does not have.

    A tool that is named by its own name is shown under the name that the session knows. Only names with `_`
    or `-` in them are taken for tools: `done` is a word.
    """
    shown = {own: name for own, name in names.items() if _is_telling(own)}
    unknown = {name for name in all_names if _is_telling(name)} - shown.keys() - set(names.values())
    blocks = (_keep_block(block, unknown) for block in _BLOCK.split(text))
    kept = "\n".join(block for block in blocks if block is not None).strip()
    return _WORD.sub(lambda match: shown.get(match[0], match[0]), kept)


def _keep_block(block: str, unknown: Collection[str]) -> str | None:
    """What is left of a block; nothing when every sentence of it went."""
    mark = _MARK.match(block)
    assert mark is not None
    sentences = _SENTENCE.split(block[mark.end() :])
    kept = [one for one in sentences if not any(word in unknown for word in _WORD.findall(one))]
    if len(kept) == len(sentences):
        return block
    return mark[0] + "".join(kept).strip() if kept else None


def _is_telling(name: str) -> bool:
    return "_" in name or "-" in name
