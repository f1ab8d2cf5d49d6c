"""Where work is kept: SQLite or PostgreSQL behind one set of functions.

Open a `Store`, then call the functions of `tasks`, `features`, `learnings` … inside one of its transactions:

    with store.write(by=Actor("ann")) as tx:
        task = tasks.add(tx, [NewTask(title="fix the login form")])

A transaction is all or nothing, and it appends its changes to the event log. Each level uses those below it:

- Whole stores: `maintenance` (export, import, checks, recovery) and `views` (data from several tables for readers).
- Undo: `undo` chooses and undoes a person's changes, `row_restoration` restores their rows.
- Operations on several entities: `task_moves` (start, finish, block, split), `reports` and `interim_reports` (what
  agents report about their task), `questions`, `runs`, `attempts` and `run_planning` (what the agents of a run do and
  plan), `reviewed_attempts` (attempts whose changes somebody has to accept), `run_steering` and
  `attention_answers` (what people say to runs and answer),
  `regressions` (closed tasks that no longer hold), `abandoned_work` and `lapsed_claims` (work of agents that are gone),
  `task_deletion`, `feature_merge`.
- What has to be proven before a task is done: `task_requirements`, with `evidence`, `waivers` and `quarantine`; what
  agents tested by themselves: `observations`.
- Whose session may give a verdict on a change: `reviewer_sessions`; reviewers that a run starts: `run_reviewers`.
- Entities, each a table and its functions: `tasks` with `task_titles`, `dependencies`, `queue`, `queue_ranks` and
  `claim_holders`, `comments`, `features` (and disciplines) with `feature_names`, `learnings`, `notes`, `sessions`,
  `agents`, `events`, `leases`, `attention` (what waits for people), `run_messages` (what people send to runs).
- Opening: `opening` opens the engine, `schema_migration` brings the schema up to date.
- Transactions: `store` (states, locks, lost connections), `group_commit`, `row_images` (what undo needs),
  `table` (values to rows and back), `fresh_ids`, `transaction`.
- `engines`: the two databases.
"""
