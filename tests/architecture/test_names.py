"""A name is found once: no two public classes are called the same, wherever they are."""

import ast
from collections import defaultdict

from architecture.sources import read_modules


def test_no_two_public_classes_have_the_same_name():
    found = defaultdict(list)
    for module, tree in read_modules().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(module)
    assert {name: modules for name, modules in found.items() if len(modules) > 1} == {}
