"""The prompt of a session: the sections of its recipe, within its budget of tokens."""

import re
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from binnacle.plan.prompt_data import CHANGE, PromptData
from binnacle.plan.recipe import Recipe
from binnacle.plan.sections import DECIDING, FORMS, SECTIONS, SectionForm
from binnacle.plan.token_count import count
from binnacle.plan.tool_mentions import Step, keep_known
from binnacle.plan.tool_mentions import render as worded

FRAME_TOKENS = 25
"""Tokens reserved for a heading and a line that says what was cut."""

_ENTRY = re.compile(r"\n(?! )")
"""Where an entry ends: its further lines are indented."""


class Section(Struct, frozen=True, kw_only=True):
    """A part of a prompt."""

    name: str
    text: str
    tokens: int
    cut: str = ""
    """The line that says what was cut."""


class Prompt(Struct, frozen=True, kw_only=True):
    """The first text that an agent reads."""

    sections: tuple[Section, ...]

    @property
    def text(self) -> str:
        return "\n\n".join(section.text for section in self.sections) + "\n" if self.sections else ""

    @property
    def tokens(self) -> int:
        return count(self.text)


def render(recipe: Recipe, loaded: PromptData, names: Mapping[str, str], *, all_names: Collection[str]) -> Prompt:
    """The prompt of a session that has the tools `names`, own name → shown name; `all_names` are those of all tools.

    Empty sections are left out. In a run, sections that decide are there even if the recipe does not list them. The
    instructions come last.
    """
    bodies = {name: SECTIONS[name](loaded) for name in shown_sections(recipe.sections, loaded)}
    if "persona" in bodies:
        bodies["persona"] = keep_known(bodies["persona"], names, all_names)
    bodies["instructions"] = _number(worded(_steps_for(recipe, loaded), names))
    bodies = {name: body for name, body in bodies.items() if body}
    room = _allot(bodies, recipe.budget)
    return Prompt(
        sections=tuple(
            _section(name, body, room[name], unseen=loaded.unloaded.get(name, 0), names=names)
            for name, body in bodies.items()
        )
    )


def shown_sections(listed: Sequence[str], loaded: PromptData) -> tuple[str, ...]:
    """The sections that a prompt shows if they are not empty: those listed, and what decides.

    Nothing is added for who reviews a change: earlier attempts, for one, are the words of those who made it.
    """
    added = DECIDING if loaded.run is not None and CHANGE not in listed else ("extra",)
    return (*listed, *(name for name in added if name not in listed))


def _steps_for(recipe: Recipe, loaded: PromptData) -> list[Step]:
    """The steps whose conditions hold."""
    conditions = {name for step in recipe.instructions for name in (step.when, step.unless) if name}
    there = {name for name in sorted(conditions) if SECTIONS[name](loaded)}
    return [
        step.wordings
        for step in recipe.instructions
        if (not step.when or step.when in there) and step.unless not in there
    ]


def _number(steps: Sequence[str]) -> str:
    return "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))


def _allot(bodies: Mapping[str, str], budget: int) -> dict[str, int]:
    """Tokens for each section.

    Sections without a share decide what the agent does, and get all they need. The others get at most their share,
    and less if all would not fit; but together they keep a quarter of the budget. So a prompt is longer than its
    budget if what decides needs more than three quarters of it.
    """
    sizes = {name: count(body) for name, body in bodies.items()}
    uncut = {name: size for name, size in sizes.items() if not FORMS[name].share}
    shares = {name: min(sizes[name], round(FORMS[name].share * budget)) for name in sizes if name not in uncut}
    left = max(budget - sum(uncut.values()) - FRAME_TOKENS * len(sizes), budget // 4)
    wanted = sum(shares.values())
    return uncut | (shares if wanted <= left else {name: share * left // wanted for name, share in shares.items()})


def _section(name: str, body: str, room: int, *, unseen: int, names: Mapping[str, str]) -> Section:
    form = FORMS[name]
    kept, dropped = _cut(body, room, newest_last=form.newest_last)
    said = _describe_cut(form, dropped + unseen, is_short=kept != body and not dropped)
    if said and (rest := worded([form.rest], names)):
        said = f"{said}. {rest[0]}"
    parts = (said, kept) if form.newest_last else (kept, said)
    text = "\n".join((f"## {form.heading}", "", *(part for part in parts if part)))
    return Section(name=name, text=text, tokens=count(text), cut=said)


def _describe_cut(form: SectionForm, missing: int, *, is_short: bool) -> str:
    if missing:
        one = form.noun[:-3] + "y" if form.noun.endswith("ies") else form.noun[:-1]
        noun = one if missing == 1 else form.noun
        return f"… {missing} {'earlier' if form.newest_last else 'more'} {noun}"
    return "… cut here" if is_short else ""


def _cut(body: str, room: int, *, newest_last: bool) -> tuple[str, int]:
    """The entries that fit, or at least a piece of the first, and how many entries were dropped."""
    if count(body) <= room:
        return body, 0
    entries = _ENTRY.split(body)
    if newest_last:
        entries.reverse()
    kept: list[str] = []
    used = 0
    for entry in entries:
        used += count(f"{entry}\n")
        if used > room:
            break
        kept.append(entry)
    if not kept:
        kept = [_shorten(entries[0], room)]
    dropped = len([entry for entry in entries[len(kept) :] if entry.strip()])
    text = "\n".join(kept[::-1] if newest_last else kept).strip("\n")
    # Without its end, a block of code would include all text after it.
    return (f"{text}\n```" if text.count("```") % 2 else text), dropped


def _shorten(entry: str, room: int) -> str:
    """The beginning of an entry that is too long, cut between words."""
    start = entry.encode()[: max(room, 1) * 4].decode(errors="ignore")
    return start.rsplit(None, 1)[0] + " …" if len(start.split()) > 1 else start + "…"
