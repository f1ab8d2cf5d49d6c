"""The folders that agents work in, and how their changes are kept in git.

run_trees         what the loop sees: the person's folder, or a tree for each worker
task_branches     a branch for each task, checked out in the tree of the worker that works on it
merge_queue       moves the branch of the run, to which the work of all tasks comes, also for several machines
remote_branches   fetches and pushes the branches of a run
person_checkout   lets the person's branch follow the branch of the run
person_changes    what the person had changed in their folder, which the run does not commit
worktrees         makes, repairs and removes the trees of workers
ignored_files     files in a tree that git would remove with it, although they are nowhere else
parking           stores what is in a tree, so that nobody's work is lost
conflict_notes    the conflicts that are begun in trees
tree_moves        moves a tree from one commit to another, so that a kill in between can be repaired
repository_lock   one change of trees and branches at a time
commits           merges commits, and says which has which
file_lock         a lock on a file that ends with its holder
"""
