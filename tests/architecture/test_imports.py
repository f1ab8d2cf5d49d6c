"""Imports between modules of the package point in one direction, those inside functions too."""

from graphlib import CycleError, TopologicalSorter

from architecture.sources import imports_of, read_modules


def test_no_modules_import_each_other():
    try:
        TopologicalSorter({name: imports_of(name) for name in read_modules()}).prepare()
    except CycleError as error:
        raise AssertionError(" → ".join(error.args[1])) from error
