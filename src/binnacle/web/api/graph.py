"""What waits for what: the tasks as a graph, for the page to draw and to list."""

from msgspec import Struct

from binnacle.store import features, tasks
from binnacle.store.tasks import TaskFilter
from binnacle.store.transaction import Reader
from binnacle.store.views.dependency_graph import DependencyGraph, load_around, load_graph
from binnacle.web.endpoints import reads
from binnacle.web.page_project import PageProject
from binnacle.work.evidence import EvidenceLevel
from binnacle.work.graph import count_dependents
from binnacle.work.ids import TaskId
from binnacle.work.status import Kind, Status, is_closed


class GraphQuery(Struct, frozen=True, kw_only=True):
    """Which part of the graph is wanted."""

    feature: str = ""
    status: tuple[Status, ...] = ()
    """If empty, the tasks that are not closed."""

    root: str = ""
    """Only this task, what it waits for and what waits for it, directly or not."""

    closed: bool = False
    """Whether closed tasks are shown, too."""

    alone: bool = False
    """Whether tasks are shown that wait for none and that none waits for."""


class GraphNode(Struct, frozen=True, kw_only=True):
    """A task in the graph."""

    id: TaskId
    title: str
    status: Status
    priority: int
    kind: Kind
    feature: str | None
    waits_for: int
    """How many unfinished tasks it waits for, shown or not."""

    blocks: int
    """How many of the open tasks shown wait for it, directly or not; a closed task holds up none."""

    is_ready: bool
    claimed_by: str | None
    level: EvidenceLevel


class GraphPage(Struct, frozen=True, kw_only=True):
    """The tasks and what they wait for."""

    nodes: list[GraphNode]
    edges: list[tuple[str, str]]
    """A task, and one it waits for."""

    cut: bool
    """Whether there were more tasks than are shown."""

    features: list[str]
    """The features to choose from."""


@reads("graph")
async def read_graph(project: PageProject, asked: GraphQuery) -> GraphPage:
    return await project.read(lambda tx: _load(tx, asked))


def _load(tx: Reader, asked: GraphQuery) -> GraphPage:
    graph = _find(tx, asked)
    closed = {one.id for one in graph.nodes if is_closed(one.status)}
    blocks = count_dependents(edge for edge in graph.edges if closed.isdisjoint(edge))
    nodes = [
        GraphNode(
            id=one.id,
            title=one.title,
            status=one.status,
            priority=one.priority,
            kind=one.kind,
            feature=one.feature,
            waits_for=one.waits_for,
            blocks=blocks.get(one.id, 0),
            is_ready=one.status == "pending" and not one.waits_for,
            claimed_by=one.claimed_by,
            level=one.level,
        )
        for one in graph.nodes
    ]
    names = [one.name for one in features.list_features(tx)]
    return GraphPage(nodes=nodes, edges=graph.edges, cut=graph.cut, features=names)


def _find(tx: Reader, asked: GraphQuery) -> DependencyGraph:
    if asked.root:
        return load_around(tx, tasks.resolve(tx, asked.root), closed_too=asked.closed)
    feature = features.get(tx, asked.feature).name if asked.feature else None
    which = TaskFilter(feature=feature, status=asked.status, closed_too=asked.closed)
    return load_graph(tx, which=which, closed_too=asked.closed, linked=not asked.alone)
