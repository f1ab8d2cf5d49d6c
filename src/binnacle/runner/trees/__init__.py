"""The folders that agents work in, and how their changes are kept in git.

run_trees       what the loop sees: one folder in place, or a worktree for each worker
worktrees       makes, repairs and removes the worktrees of a run
branch_merges   merges the branch of a worker into that of the run, completely or not at all
branch_moves    moves a branch with the tree it is checked out in, so that a kill in between can be repaired
git             runs `git`, with a timeout and without a terminal
file_lock       a lock on a file that ends with its holder
"""
