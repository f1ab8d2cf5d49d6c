"""Every mutant of a source differs from it in one place, can be loaded, and is always the same."""

import ast

import pytest

from mutation.__main__ import SOURCE, TARGETS, TESTS, _path_of, choose_mutants, judge
from mutation.mutants import count_mutants, make_mutant

CODE = '''
LIMIT = 3

def may_take(task, *, by, now):
    """Whether it is free."""
    if task is None and not by:
        raise ValueError("nobody")
    count = 0
    count += 1
    log(task)
    return task.until <= now or task.holder == by
'''

FAULTS = {
    "return task.until < now or task.holder == by",
    "return task.until <= now or task.holder != by",
    "return task.until <= now and task.holder == by",
    "return None",
    "if task is not None and (not by):",
    "if task is None or not by:",
    "if task is None and (not not by):",
    "count = 1",
    "count += 2",
    "pass",
}


def test_each_kind_of_fault_is_made():
    lines = {line.strip() for at in range(count_mutants(CODE)) for line in make_mutant(CODE, at).source.splitlines()}
    assert lines >= FAULTS
    assert "LIMIT = 4" not in lines, "what is no function is left alone"


@pytest.mark.parametrize("target", TARGETS, ids=[target.name for target in TARGETS])
def test_mutants_of_real_modules_can_be_loaded_and_differ_from_them(target):
    assert all((TESTS / test).exists() for test in target.tests)
    chosen = choose_mutants(target)
    assert chosen == choose_mutants(target)
    assert len(set(chosen)) == len(chosen) <= target.most
    for module, index in chosen:
        source = _path_of(module, SOURCE).read_text()
        mutant = make_mutant(source, index)
        assert compile(mutant.source, module, "exec")
        assert mutant.source != ast.unparse(ast.parse(source)), mutant.fault


def test_a_score_may_rise_and_not_fall():
    assert list(judge({"rules": 80, "loop": 50}, {"rules": 80})) == []
    assert list(judge({"rules": 79}, {"rules": 80})) == ["rules: 79 % of the faults are noticed, which were 80 %"]
