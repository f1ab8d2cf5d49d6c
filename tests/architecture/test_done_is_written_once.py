"""One function writes `done`: `store.task_moves.finish`. Whatever else touches the status of a task is listed here."""

import ast
import re

from architecture.sources import read_modules

TASK_WRITERS = {
    "binnacle.store.task_moves": "moves; only `_finish_at` closes as done",
    "binnacle.store.tasks": "fields; a new task that is done already passes the gate",
    "binnacle.store.task_deletion": "deletes",
    "binnacle.store.row_restoration": "undo: a person gets back what was there",
    "binnacle.store.maintenance.importer": "import, which only a person may do",
    "binnacle.store.queue": "the queue",
    "binnacle.store.lapsed_claims": "gives tasks back",
}
"""Modules that insert or update tasks through their table."""

SQL_WRITERS = {
    "binnacle.store.task_moves",
    "binnacle.store.transaction",
    "binnacle.store.queue_ranks",
    "binnacle.store.dependencies",
    "binnacle.store.feature_merge",
    "binnacle.store.maintenance.checks",
    "binnacle.store.maintenance.importer",
    "binnacle.store.maintenance.recovery",
    "binnacle.store.schema_migration",
}
"""Modules with SQL that changes tasks."""

CHANGES_TASKS = re.compile(r"\b(?:update|insert into) task\b")
SETS_DONE = re.compile(r"\bset\b(?:(?!\bwhere\b).)*\bstatus = (?:'done'|\?)", re.DOTALL)


def texts_of(tree):
    """The texts in a module: constants, and the fixed parts of formatted ones."""
    return [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def calls_of(tree, name):
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == name]


def functions_with(tree, is_wanted):
    return {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and any(is_wanted(inner) for inner in ast.walk(node))
    }


def test_only_known_modules_write_tasks():
    found = {
        name
        for name, tree in read_modules().items()
        if any(calls_of(tree, f"{table}.{verb}") for table in ("TASKS", "tasks.TASKS") for verb in ("insert", "update"))
    }
    assert found <= TASK_WRITERS.keys(), "close tasks through store.task_moves.finish"
    sql = {name for name, tree in read_modules().items() if any(map(CHANGES_TASKS.search, texts_of(tree)))}
    assert sql <= SQL_WRITERS, "close tasks through store.task_moves.finish"


def test_no_sql_sets_a_task_done():
    found = [
        (name, text) for name, tree in read_modules().items() for text in texts_of(tree)
        if CHANGES_TASKS.search(text) and SETS_DONE.search(text)
    ]  # fmt: skip
    assert found == []


def is_call(node, name):
    return isinstance(node, ast.Call) and ast.unparse(node.func) == name


def test_one_function_closes_a_task_as_done():
    tree = read_modules()["binnacle.store.task_moves"]

    def moves_to_done(node):
        return is_call(node, "_move") and any(
            isinstance(one, ast.Constant) and one.value == "done" for one in node.args
        )

    assert functions_with(tree, moves_to_done) == {"_finish_at"}
    assert functions_with(tree, lambda node: is_call(node, "_finish_at")) == {"finish", "_finish_waived"}
    assert functions_with(tree, lambda node: is_call(node, "_finish_waived")) == {"finish"}


def test_a_status_that_is_passed_on_to_a_move_is_never_done():
    """`_move` gets its status as a constant, except from `_stop`, whose caller lists what it may be."""
    tree = read_modules()["binnacle.store.task_moves"]
    variable = functions_with(tree, lambda node: is_call(node, "_move") and not isinstance(node.args[2], ast.Constant))
    assert variable == {"_stop"}
    cases = [node for node in ast.walk(tree) if isinstance(node, ast.match_case)]
    (case,) = [node for node in cases if any(is_call(one, "_stop") for one in ast.walk(node))]
    allowed = {one.value.value for one in ast.walk(case.pattern) if isinstance(one, ast.MatchValue)}
    assert allowed == {"draft", "partial", "needs_input", "in_review"}


def test_the_levels_of_evidence_are_written_where_tasks_are_closed_and_opened():
    found = {
        name
        for name, tree in read_modules().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Dict)
        and any(isinstance(key, ast.Constant) and key.value == "evidence_level" for key in node.keys)
    }
    assert found == {"binnacle.store.task_moves"}
