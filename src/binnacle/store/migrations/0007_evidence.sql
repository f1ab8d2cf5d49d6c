-- Evidence: the results of checks, the tasks that need them, and what people decided about both. Results stay when a task
-- is deleted; a waiver belongs to its task.

alter table feature add column checks {text} not null default '[]';
alter table task add column checks {text} not null default '[]';
alter table task add column evidence_level {text} not null default '';
alter table task add column evidence_commit {text} not null default '';
alter table task add column evidence_at {text};

update task set evidence_level = 'said' where status = 'done';

create table evidence (
    number {identity},
    id {text} not null unique,
    check_name {text} not null,
    definition {text} not null,
    commit_id {text} not null,
    tree {text} not null,
    base {text} not null,
    environment {text} not null,
    environment_summary {text} not null,
    verdict {text} not null,
    reason {text} not null,
    exit_code integer,
    ran integer,
    passed {text} not null,
    failed {text} not null,
    new_failed {text} not null,
    old_failed {text} not null,
    decision {text} not null,
    findings {text} not null,
    seconds double precision not null,
    log {text} not null,
    log_bytes bigint not null,
    machine {text} not null,
    asked_by {text} not null,
    task_id {text} references task (id) on delete set null,
    run {text},
    session {text},
    tier {text} not null,
    is_merged integer not null,
    created_at {text} not null
);

create index evidence_tree on evidence (tree, definition, number);
create index evidence_commit on evidence (commit_id, number);
create index evidence_task on evidence (task_id, number) where task_id is not null;

-- Results on bases, kept only to be compared with.

create table baseline (
    tree {text} not null,
    definition {text} not null,
    environment {text} not null,
    verdict {text} not null,
    ran integer,
    passed {text} not null,
    failed {text} not null,
    skipped {text} not null,
    created_at {text} not null,
    primary key (tree, definition, environment)
);

create table waiver (
    number {identity},
    id {text} not null unique,
    task_id {text} not null references task (id) on delete cascade,
    waived_by {text} not null,
    reason {text} not null,
    checks {text} not null,
    created_at {text} not null
);

create index waiver_task on waiver (task_id, number);

create table quarantine (
    number {identity},
    check_name {text} not null,
    test_id {text} not null,
    owner {text} not null,
    reason {text} not null,
    ends_at {text} not null,
    created_at {text} not null,
    unique (check_name, test_id)
);
