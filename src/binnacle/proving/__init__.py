"""Proves that tasks are done: runs the checks that a task needs on the commit of its change, and keeps the results.

    task_closing       `done` outside of runs: proves it, and closes the task or says what is missing
    │                  (`background_closing` lets a server answer while checks still run)
    review_opening     puts a change up for review that is proven otherwise; also for the attempts of a run
    verification       what closed tasks were closed with, again at another commit
    │  regressions         which commit broke what no longer holds
    │  commit_history      the commits that come into question, and whose they are
    │
    change_prover      the checks of a task, or of a project, on a commit; results are reused while nothing changed
    │
    ├─ check_definitions   which checks there are: from the base, and only what a person trusted
    ├─ work_range          what was committed since the work on a task began
    ├─ remark_judging      whether a commit changed the places of reviewers' comments
    ├─ proof_store         the store, as provers see it
    └─ proof_report        a proof in words that an agent can act on

Whether a proof suffices is decided elsewhere (`work.done_gate`), when the task is closed (`store.task_moves.finish`).
"""
