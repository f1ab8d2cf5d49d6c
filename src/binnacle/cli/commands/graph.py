"""`bn graph`: dependencies as a tree on the terminal, or as Mermaid and DOT for pages."""

from argparse import Namespace

from binnacle.cli.command import READS, Group, arg
from binnacle.cli.context import Context
from binnacle.cli.graph_drawing import dot, mermaid, print_tree
from binnacle.cli.screen import Screen
from binnacle.store import tasks
from binnacle.store.views.dependency_graph import MAX_GRAPH_TASKS, DependencyGraph, load_graph, load_reachable

GRAPH = Group("graph")


def _show(answer: DependencyGraph, screen: Screen) -> None:
    waited_for = {target for _, target in answer.edges}
    roots = [node.id for node in answer.nodes if node.id not in waited_for]
    print_tree(answer.nodes, answer.edges, roots, screen)
    if not answer.nodes:
        screen.line("no tasks; add one with: bn task add 'TITLE'")
    if answer.cut:
        screen.line(
            screen.styled(f"only the first {MAX_GRAPH_TASKS} tasks are shown; narrow it with -f or an id", "dim")
        )


@GRAPH.command(
    "",
    "what waits for what",
    "bn graph; bn graph --format mermaid > graph.mmd",
    arg("id", nargs="?", metavar="ID", completes="task", help="only this task and what it waits for"),
    arg("-f", "--feature", completes="feature", help="only this feature"),
    arg("--all", action="store_true", help="closed tasks, too"),
    arg(
        "--format",
        choices=("json", "tree", "mermaid", "dot"),
        help="json, or a drawing; people see the tree by default",
    ),
    view=_show,
    needs=READS,
)
def show(context: Context, args: Namespace) -> DependencyGraph | None:
    with context.reading() as tx:
        if args.id:
            found = load_reachable(tx, [tasks.resolve(tx, args.id)])
        else:
            found = load_graph(tx, feature=args.feature, closed_too=args.all)
    if args.format in (None, "json"):
        return found
    screen = Screen()
    if args.format == "tree":
        _show(found, screen)
    else:
        screen.block((mermaid if args.format == "mermaid" else dot)(found.nodes, found.edges), indent=0)
    return None
