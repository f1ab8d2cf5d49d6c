"""Text in which nothing can hide: what a person decides about has to be what programs read."""

BLANK = (
    ("\u034f", "\u034f"),
    ("\u115f", "\u1160"),
    ("\u17b4", "\u17b5"),
    ("\u180b", "\u180f"),
    ("\u2800", "\u2800"),
    ("\u3164", "\u3164"),
    ("\ufe00", "\ufe0f"),
    ("\uffa0", "\uffa0"),
    ("\U00016fe4", "\U00016fe4"),
    ("\U0001d159", "\U0001d159"),
    ("\U000e0100", "\U000e01ef"),
)
"""Characters, from one to another, that count as printable and show nothing: fillers, joiners, variation selectors.

Programs and models read them, so a whole text can stand where a person sees none.
"""


def visible(text: str) -> str:
    """`text` with everything that a terminal would obey or hide written out, so that nothing can look harmless."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(one.encode("unicode_escape").decode("ascii") if _is_hidden(one) else one for one in text)


def _is_hidden(character: str) -> bool:
    """Whether a terminal obeys it, or shows nothing for it."""
    return not character.isprintable() or any(first <= character <= last for first, last in BLANK)
