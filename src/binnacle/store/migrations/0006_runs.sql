-- Runs: what was asked, where the changes come together, what every attempt led to and cost, what people send to a run on
-- whatever machine it is, and what waits for a person.

create table run (
    number {identity},
    id {text} not null unique,
    name {text} not null,
    feature {text},
    asked {text} not null,
    asked_file {text} not null,
    is_planned integer not null,
    base {text} not null,
    branch {text} not null,
    head {text} not null,
    remote {text} not null,
    status {text} not null,
    why {text} not null,
    said {text} not null,
    is_paused integer not null,
    budget {text} not null,
    seconds double precision not null default 0,
    created_at {text} not null,
    ended_at {text}
);

create index run_name on run (name, number);

alter table session add column run {text};
alter table session add column place {text} not null default '';

create index session_run on session (run, number) where run is not null;

-- An iteration plans a part of the specification, or is one attempt at a task: who made it, what it led to, and what it
-- cost.

alter table iteration add column plans {text} not null default '';
alter table iteration add column agent {text} not null default '';
alter table iteration add column model {text} not null default '';
alter table iteration add column outcome {text} not null default '';
alter table iteration add column reason {text} not null default '';
alter table iteration add column commit_id {text} not null default '';
alter table iteration add column files integer not null default 0;
alter table iteration add column seconds double precision not null default 0;
alter table iteration add column tokens bigint not null default 0;
alter table iteration add column cost double precision not null default 0;
alter table iteration add column currency {text} not null default '';

create index iteration_task on iteration (task_started) where task_started is not null;

-- What people send to the sessions of a run: taken by the process that drives the session.

create table run_message (
    number {identity},
    run {text} not null,
    session {text} not null,
    kind {text} not null,
    body {text} not null,
    sent_by {text} not null,
    created_at {text} not null,
    taken_at {text}
);

create index run_message_new on run_message (session, number) where taken_at is null;

-- What needs a person: one entry for one cause, open until it is answered or over. A question has its entry here, too.

create table attention (
    number {identity},
    id {text} not null unique,
    run {text},
    session {text},
    task_id {text},
    question {text} references question (id) on delete cascade,
    kind {text} not null,
    title {text} not null,
    body {text} not null,
    options {text} not null,
    created_at {text} not null,
    answer {text} not null,
    answered_by {text},
    answered_at {text}
);

create index attention_open on attention (number) where answered_at is null;
create index attention_question on attention (question) where question is not null;

-- Who may do what only one may do at a time, until when.

create table lease (
    name {text} primary key,
    holder {text} not null,
    fence bigint not null,
    expires_at {text} not null
);

-- Titles repeat among closed tasks and among features. The sketch of a title finds those that mean the same; the column
-- is filled after this script. What a task covers are requirements of a specification.

alter table task add column title_sketch {text} not null default '';

drop index task_title;
create unique index task_title on task (coalesce(feature, ''), title_sketch, title_key)
where status not in ('done', 'cancelled');

alter table task add column covers {text} not null default '[]';
