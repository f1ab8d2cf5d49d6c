"""A name is found once: no two public classes are called the same, wherever they are."""

import re
from collections import defaultdict
from pathlib import Path

import binnacle

PUBLIC_CLASS = re.compile(r"^class ([A-Za-z]\w*)[(:]", re.MULTILINE)


def test_no_two_public_classes_have_the_same_name():
    found = defaultdict(list)
    for path in Path(binnacle.__file__).parent.rglob("*.py"):
        for name in PUBLIC_CLASS.findall(path.read_text()):
            found[name].append(str(path))
    assert len(found) > 100, "the classes are not found"
    assert {name: paths for name, paths in found.items() if len(paths) > 1} == {}
