"""Runs of agents: `bn run`. One fresh agent after the other works on the tasks of a project until a run ends.

    loop             plans, iterates with every worker, decides when the run ends; begins with the theory of it all
    task_watch       reports changed tasks, runs the hooks of finished ones
    iteration        one agent from its start to its end; conversation: its prompts and what it says
    end_rules        why a run ends, budget: what it may cost; both are pure
    agents/          starts agents and speaks ACP with them; what they are permitted
    trees/           the folders they work in: git worktrees, commits, merges
    hooks/           commands of the project that run at events of a run
    run_store        the tasks and sessions of the run, in the store
    run_control      how people steer it; run_events: what is reported, as values
    run_context      what all workers share; ports: what a run needs of the rest of the product
    prompt_template  a prompt that the project writes; transcript: what an agent said and did, in a file

`app.run` puts a run together. Nothing here reads settings or serves MCP.
"""
