-- What agents report of the task their session is bound to, and what they ask people.

create table report (
    number {identity},
    id {text} not null unique,
    session {text},
    task_id {text} not null references task (id) on delete cascade,
    kind {text} not null,
    body {text} not null,
    author {text} not null,
    created_at {text} not null,
    settled_at {text},
    outcome {text} not null default '',
    note {text} not null default ''
);

create index report_task on report (task_id, number);
create index report_session on report (session, number);

create table question (
    number {identity},
    id {text} not null unique,
    task_id {text} not null references task (id) on delete cascade,
    session {text},
    text {text} not null,
    options {text} not null,
    preferred {text} not null,
    blocking integer not null,
    asked_by {text} not null,
    created_at {text} not null,
    answer {text} not null default '',
    answered_by {text},
    answered_at {text}
);

create index question_task on question (task_id, number);
create index question_open on question (blocking, number) where answered_at is null;

create index session_task on session (task_id, number) where task_id is not null;
