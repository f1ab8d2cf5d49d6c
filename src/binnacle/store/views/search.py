"""Full-text search over tasks, comments, notes and learnings, best match first."""

from typing import Literal

import msgspec
from msgspec import Struct

from binnacle.errors import InvalidInput
from binnacle.store.transaction import Reader

Entity = Literal["task", "comment", "note", "learning"]

SNIPPET_CHARACTERS = 160
"""Characters of text shown with a hit."""


class SearchHit(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An entity that matches."""

    entity: Entity
    id: str
    task_id: str | None = None
    """The task of a comment, or the task itself."""

    title: str = ""
    """Title of that task."""

    status: str = ""
    snippet: str = ""


def find_text(tx: Reader, text: str, *, entity: Entity | None = None, limit: int = 20) -> list[SearchHit]:
    """The entities with all words of `text`, or words that begin with them; titles count more than other text."""
    words = _words(_strip_accents(text) if tx.dialect.name == "postgres" else text)
    ranked = (
        _search_sqlite(tx, words, entity, limit)
        if tx.dialect.name == "sqlite"
        else _search_postgres(tx, words, entity, limit)
    )
    return [_make_hit(tx, kind, key, body, words) for kind, key, body in ranked]


def count_hits(tx: Reader, text: str, *, entity: Entity | None = None) -> int:
    """The total number of hits."""
    condition = "and entity = ?" if entity else ""
    only = (entity,) if entity else ()
    if tx.dialect.name == "sqlite":
        pattern = _sqlite_pattern(_words(text))
        return tx.count(f"select count(*) from search where search match ? {condition}", pattern, *only)
    pattern = _postgres_pattern(_words(_strip_accents(text)))
    matching = "select count(*) from search where words @@ to_tsquery('bn_words', ?)"
    return tx.count(f"{matching} {condition}", pattern, *only)


def _words(text: str) -> list[str]:
    """The prefixes that words must have to match: the words of the query, without endings."""
    import unicodedata

    # Vowel signs belong to their words. Words are cut to the length that PostgreSQL accepts.
    kept = "".join(c if c.isalnum() or unicodedata.category(c)[0] == "M" else " " for c in text)
    words = [word[:400] for word in kept.split()[:20] if any(map(str.isalnum, word))]
    if not words:
        raise InvalidInput(f"nothing to search for in {text[:60]!r}", hint="give at least one word or number")
    return [_stem(word) for word in words]


def _strip_accents(text: str) -> str:
    """`text` without accents, like PostgreSQL's index. SQLite's tokenizer does this itself."""
    from unicodedata import normalize

    return "".join(c for c in normalize("NFD", text) if not "\u0300" <= c <= "\u036f")


_ENDINGS = ("ings", "ing", "ies", "ied", "ed", "es", "s", "e")


def _stem(word: str) -> str:
    """A word without its English ending, so that `tokens` finds `token` and `cache` finds `caching`.

    Only queries are cut. The index has complete words, so that every prefix of a word finds it.
    """
    for ending in _ENDINGS:
        if word.lower().endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def _search_sqlite(tx: Reader, words: list[str], entity: Entity | None, limit: int) -> list[tuple[Entity, str, str]]:
    condition = "and entity = ?" if entity else ""
    rows = tx.rows(
        f"select entity, id, body from search where search match ? {condition} "
        "order by bm25(search, 0, 0, 4.0, 1.0), rowid limit ?",
        _sqlite_pattern(words),
        *((entity,) if entity else ()),
        limit,
    )
    return [(row[0], row[1], row[2]) for row in rows]


def _search_postgres(tx: Reader, words: list[str], entity: Entity | None, limit: int) -> list[tuple[Entity, str, str]]:
    condition = "and entity = ?" if entity else ""
    rows = tx.rows(
        f"select entity, id, body from search, to_tsquery('bn_words', ?) query where words @@ query {condition} "
        "order by ts_rank_cd('{0, 0, 0.25, 1}', words, query, 1) desc, entity, id limit ?",
        _postgres_pattern(words),
        *((entity,) if entity else ()),
        limit,
    )
    return [(row[0], row[1], row[2]) for row in rows]


def _sqlite_pattern(words: list[str]) -> str:
    return " ".join(f'"{word}"*' for word in words)


def _postgres_pattern(words: list[str]) -> str:
    return " & ".join(f"{word}:*" for word in words)


def _make_hit(tx: Reader, entity: Entity, key: str, body: str, words: list[str]) -> SearchHit:
    task_id: str | None = key if entity == "task" else None
    if entity == "comment":
        row = tx.row("select task_id from comment where id = ?", key)
        task_id = row[0] if row else None
    row = tx.row("select title, status, description, hints, tags from task where id = ?", task_id) if task_id else None
    title, status = (row[0], row[1]) if row else ("", "")
    if row and entity == "task":  # its tags are indexed as JSON, which is not how people write them
        body = " ".join([row[2], row[3], *(f"+{tag}" for tag in msgspec.json.decode(row[4]))])
    return SearchHit(
        entity=entity, id=key, task_id=task_id, title=title, status=status, snippet=_make_snippet(body, words)
    )


def _make_snippet(body: str, words: list[str]) -> str:
    """The text around the first word that matches."""
    flat = " ".join(body.split())
    lowered = flat.lower()
    places = [place for word in words if (place := lowered.find(word.lower()[:5])) >= 0]
    start = max(0, min(places, default=0) - SNIPPET_CHARACTERS // 4)
    cut = flat[start : start + SNIPPET_CHARACTERS]
    return f"{'…' if start else ''}{cut}{'…' if start + SNIPPET_CHARACTERS < len(flat) else ''}"
