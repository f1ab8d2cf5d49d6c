"""Search for tools that a session may use but does not list, because lists cost tokens."""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from math import log
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta, Raw, Struct

from binnacle.errors import InvalidInput, Refused
from binnacle.tools.caller import Caller
from binnacle.tools.outcome import ToolReply
from binnacle.tools.tool_spec import ToolErrorContract, ToolHints, ToolSpec

FINDERS = SEARCH, CALL = "tool_search", "tool_call"

Entry = Mapping[str, Any]
"""A tool as `tools/list` shows it."""

Invoke = Callable[[Caller, str, bytes], Awaitable[ToolReply]]
"""Calls a tool of the session by any of its names; raises the errors of a direct call."""

WEIGHTS = {"name": 4.0, "title": 3.0, "description": 1.5, "parameter": 1.0, "detail": 0.5}
"""How much a word counts, by the field it is in."""

BM25_SATURATION, BM25_LENGTH = 1.2, 0.6
"""BM25 parameters: how fast a repeated word stops counting, and how much a long text reduces the weight."""

PREFIX_WEIGHT, CONTAINED_WEIGHT = 0.6, 0.25
"""How much a word counts that starts with the word of the query, or contains it."""

MAX_QUERY_WORDS = 16
"""Words of a query that are looked for."""

MAX_SCHEMAS, MAX_SCHEMA_BYTES = 5, 8000
"""Schemas shown with the best hits, and their total size: about 2 000 tokens."""

MAX_LINE_CHARACTERS = 160
"""Characters shown of a description."""

NOISE = frozenset(
    re.findall(
        r"\w+",
        "a an and any are as at be by can do for from how i in into is it me my need of on or please some that the "
        "there this to tool want was what which with you",
    )
)
"""Words of a query that are ignored."""

_WORD = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WITHOUT_SPACES = re.compile(r"[\u0e00-\u0eff\u2e80-\ud7ff\uf900-\ufaff]")


class ToolHit(NamedTuple):
    """A tool that matches a query."""

    name: str
    score: float
    entry: Entry


class ToolIndex:
    """A search index of tools. Built once for each list of tools."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = list(entries)
        self.places = {entry["name"].casefold(): place for place, entry in enumerate(self.entries)}
        fields = [{key: Counter(found) for key, found in _fields(entry).items()} for entry in self.entries]
        average = {key: sum(one[key].total() for one in fields) / (len(fields) or 1) or 1.0 for key in WEIGHTS}
        postings: dict[str, dict[int, float]] = defaultdict(dict)
        for place, one in enumerate(fields):
            for key, counts in one.items():
                share = WEIGHTS[key] / (1 - BM25_LENGTH + BM25_LENGTH * counts.total() / average[key])
                for word, count in counts.items():
                    postings[word][place] = postings[word].get(place, 0.0) + count * share
        self.postings = dict(postings)
        """Word → tool → how much the word stands out there."""

        self.words = sorted(postings)
        self._text = "\n".join(["", *self.words, ""])
        """All words, one per line: one search in it is faster than a loop over the words."""

    def like(self, word: str) -> Iterator[tuple[str, float]]:
        """The indexed words that `word` may mean, and how well each fits."""
        if word in self.postings:
            yield word, 1.0
        for place in range(bisect_left(self.words, word), len(self.words)):
            longer = self.words[place]
            if not longer.startswith(word):
                break
            if longer != word and len(word) > 1:
                yield longer, PREFIX_WEIGHT
        for length in range(3, len(word)):
            if word[:length] in self.postings:
                yield word[:length], PREFIX_WEIGHT * length / len(word)
        if len(word) > 3:
            yield from ((longer, CONTAINED_WEIGHT) for longer in self._containing(word))

    def _containing(self, word: str) -> Iterator[str]:
        """The words that contain `word`, but do not start with it."""
        place = self._text.find(word)
        while place > 0:
            begin, end = self._text.rfind("\n", 0, place) + 1, self._text.index("\n", place)
            if begin < place:
                yield self._text[begin:end]
            place = self._text.find(word, end)


def search(index: ToolIndex, query: str, limit: int) -> list[ToolHit]:
    """The tools that fit a query best, best first. A tool whose name is the query comes first."""
    asked = list(dict.fromkeys(_words(query)))
    asked = [word for word in asked if word not in NOISE][:MAX_QUERY_WORDS] or asked[:MAX_QUERY_WORDS]
    scores: dict[int, float] = defaultdict(float)
    matched: Counter[int] = Counter()
    for word in asked:
        found = _score(index, word)
        matched.update(found.keys())
        for place, score in found.items():
            scores[place] += score
    # A tool that matches half of the words gets half of the sum of their scores.
    ranked = {place: score * matched[place] / len(asked) for place, score in scores.items()}
    exact = index.places.get(query.strip().casefold())
    if exact is not None:
        ranked[exact] = ranked.get(exact, 0.0) + 1000.0
    best = sorted(ranked, key=lambda place: (-ranked[place], place))[:limit]
    return [ToolHit(index.entries[place]["name"], ranked[place], index.entries[place]) for place in best]


def fit_budget(entries: Sequence[tuple[str, int]], budget: int, keep: Collection[str]) -> set[str]:
    """The tools to list, from pairs of name and tokens, when the list may cost `budget` tokens.

    Tools in `keep` are always listed: the recipe's own, pinned and recently used ones. The others follow in their
    order as long as they fit; a tool that is too big does not keep out those after it.
    """
    listed = {name for name, _ in entries if name in keep}
    left = budget - sum(tokens for name, tokens in entries if name in listed)
    for name, tokens in entries:
        if name not in listed and tokens <= left:
            listed.add(name)
            left -= tokens
    return listed


class ToolSearchParams(Struct, kw_only=True, forbid_unknown_fields=True):
    query: Annotated[str, Meta(description="what the tool should do, in a few words, or a part of its name")]
    limit: Annotated[int, Meta(ge=1, le=50)] = 8


class CallByNameParams(Struct, kw_only=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(description="name of the tool, from tool_search")]
    arguments: Annotated[
        Any, Meta(description="arguments of the tool, by its schema", extra_json_schema={"type": "object"})
    ] = {}


class ToolFinder:
    """The two tools that find and call tools which are not listed."""

    def __init__(self, index: Callable[[], ToolIndex], invoke: Invoke) -> None:
        """`index` returns the index of the tools that the session may use now."""
        self._index = index
        self._invoke = invoke

    def specs(self) -> list[ToolSpec]:
        """The tools, ready for the catalog."""
        return [
            ToolSpec(
                name=SEARCH,
                title="Find a tool",
                description="Find tools that are not listed. Returns their names, what they do and need, and the "
                "schemas of the best. Call them with tool_call.",
                category="tools",
                hints=ToolHints(read_only=True, idempotent=True),
                parameters=ToolSearchParams,
                run=self._search,
                prefix=True,
            ),
            ToolSpec(
                name=CALL,
                title="Call a tool that is not listed",
                description="Call a tool that tool_search found.",
                category="tools",
                hints=ToolHints(read_only=False, destructive=True, open_world=True),
                parameters=CallByNameParams,
                run=self._call,
                timeout=None,  # the tool that is called has its own
                prefix=True,
                errors=(
                    ToolErrorContract(code="E_NOT_FOUND", when="no tool has that name; look for it with tool_search"),
                ),
            ),
        ]

    async def _search(self, caller: Caller, given: ToolSearchParams) -> ToolReply:  # noqa: ARG002
        index = self._index()
        hits = search(index, given.query, given.limit)
        if not hits:
            hint = f"none of {len(index.entries)} tools fits {given.query!r}; try other words"
            return ToolReply({"tools": [], "hint": hint}, hint)
        schemas = _schemas(hits)
        tools = [
            {
                "name": hit.name,
                "description": _line(hit.entry),
                "required": _required(hit.entry),
                **({"inputSchema": Raw(schemas[hit.name])} if hit.name in schemas else {}),
            }
            for hit in hits
        ]
        return ToolReply({"tools": tools}, _as_text(hits, schemas))

    async def _call(self, caller: Caller, given: CallByNameParams) -> ToolReply:
        if given.name in (SEARCH, CALL):
            raise Refused(f"{given.name} cannot be called through {CALL}", hint=f"call {given.name} itself")
        return await self._invoke(caller, given.name, msgspec.json.encode(_arguments(given)))


def _arguments(given: CallByNameParams) -> dict[str, Any]:
    """The arguments of the other tool. Models often send a nested object as text."""
    found = given.arguments
    if isinstance(found, str):
        try:
            found = msgspec.json.decode(found or "{}")
        except msgspec.DecodeError as error:
            raise InvalidInput(f"arguments of {given.name} are not JSON: {error}", hint="send an object") from error
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise InvalidInput(f"arguments of {given.name} are not an object", hint='send an object, as {"path": "a"}')
    return found


def _score(index: ToolIndex, word: str) -> dict[int, float]:
    """The score of each tool for one word of a query: that of the best matching indexed word."""
    scores: dict[int, float] = {}
    for known, likeness in index.like(word):
        found = index.postings[known]
        rarity = log(1 + (len(index.entries) - len(found) + 0.5) / (len(found) + 0.5))
        for place, weight in found.items():
            score = likeness * rarity * weight / (weight + BM25_SATURATION)
            if score > scores.get(place, 0.0):
                scores[place] = score
    return scores


def _fields(entry: Entry) -> dict[str, list[str]]:
    parameters = list(_parameters(entry.get("inputSchema"), depth=0))
    return {
        "name": _words(entry["name"]),
        "title": _words(_text(entry, "title")),
        "description": _words(_text(entry, "description")),
        "parameter": [word for name, _ in parameters for word in _words(name)],
        "detail": [word for _, told in parameters for word in _words(told)],
    }


def _parameters(schema: Any, *, depth: int) -> Iterator[tuple[str, str]]:
    """Names and descriptions of a tool's parameters, including those in lists and objects."""
    if not isinstance(schema, dict) or depth > 4:
        return
    yield from _parameters(schema.get("items"), depth=depth + 1)
    properties = schema.get("properties")
    for name, value in properties.items() if isinstance(properties, dict) else ():
        yield name, _text(value, "description") if isinstance(value, dict) else ""
        yield from _parameters(value, depth=depth + 1)


def _text(entry: Entry, key: str) -> str:
    value = entry.get(key)
    return value if isinstance(value, str) else ""


def _words(text: str) -> list[str]:
    """The words of a text, also within names: `readFile`, `read_file` and `read.files` are `read` and `file`."""
    return [word for part in _WORD.findall(text) for word in _parts(part)]


@lru_cache(maxsize=10_000)
def _parts(name: str) -> tuple[str, ...]:
    found: list[str] = []
    for word in _CAMEL.split(name):
        if _WITHOUT_SPACES.search(word):
            found += [first + second for first, second in pairwise(word)] or [word]
        else:
            found.append(_singular(word.casefold()))
    return tuple(found)


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")) else word


def _line(entry: Entry) -> str:
    """What a tool does, in one line."""
    told = " ".join((_text(entry, "description") or _text(entry, "title")).split())
    first = re.split(r"(?<=[.!?]) ", told, maxsplit=1)[0]
    return first if len(first) <= MAX_LINE_CHARACTERS else f"{first[: MAX_LINE_CHARACTERS - 1]}…"


def _required(entry: Entry) -> list[str]:
    """Required parameters of a tool. Schemas of upstream servers may be malformed."""
    found = entry["inputSchema"].get("required")
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def _schemas(hits: Sequence[ToolHit]) -> dict[str, bytes]:
    """The schemas of the best hits, as far as they fit."""
    found: dict[str, bytes] = {}
    room = MAX_SCHEMA_BYTES
    for hit in islice(hits, MAX_SCHEMAS):
        schema = msgspec.json.encode(hit.entry["inputSchema"])
        if len(schema) <= room:
            found[hit.name] = schema
            room -= len(schema)
    return found


def _as_text(hits: Sequence[ToolHit], schemas: Mapping[str, bytes]) -> str:
    lines = []
    for hit in hits:
        lines.append(f"{hit.name}({', '.join(_required(hit.entry))}): {_line(hit.entry)}")
        if hit.name in schemas:
            lines.append(f"  takes {schemas[hit.name].decode()}")
    return "\n".join([*lines, f'call one with {CALL} {{"name": …, "arguments": {{…}}}}'])
