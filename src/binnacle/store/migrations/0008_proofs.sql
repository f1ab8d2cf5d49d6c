-- Where the work on a task began, so that a proof can name what was changed since; and what a result was compared with.
-- Results on bases are files of a machine: they are of no use to another.

create table work_start (
    task_id {text} primary key references task (id) on delete cascade,
    commits {text} not null,
    created_at {text} not null
);

alter table evidence add column flaky {text} not null default '[]';
alter table evidence add column log_excerpt {text} not null default '';
alter table evidence add column is_bug integer not null default 0;

drop table baseline;
