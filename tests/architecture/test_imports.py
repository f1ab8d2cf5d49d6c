"""Imports between modules of the package point in one direction, those inside functions too."""

from graphlib import CycleError, TopologicalSorter

import grimp


def test_no_modules_import_each_other():
    graph = grimp.build_graph("binnacle", cache_dir=None)
    try:
        TopologicalSorter({name: graph.find_modules_directly_imported_by(name) for name in graph.modules}).prepare()
    except CycleError as error:
        raise AssertionError(" → ".join(error.args[1])) from error
