-- Why the agents who had to look at a change gave no verdict, so that a person decides in their place; empty otherwise.

alter table review add column handed_over {text} not null default '';
