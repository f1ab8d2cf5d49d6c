-- Reviews: that somebody looks at a change, what each reviewer said about exactly one tree, and their comments on places
-- of the change. All of it belongs to its task.

create table review (
    number {identity},
    id {text} not null unique,
    task_id {text} not null references task (id) on delete cascade,
    commit_id {text} not null,
    tree {text} not null,
    base {text} not null,
    run {text},
    session {text},
    round integer not null,
    require {text} not null,
    reasons {text} not null,
    reviewers integer not null,
    rounds integer not null,
    evidence {text} not null,
    proof {text} not null,
    status {text} not null,
    asked_by {text} not null,
    created_at {text} not null,
    ended_at {text}
);

create index review_task on review (task_id, number);
create index review_open on review (number) where status = 'open';

create table review_verdict (
    number {identity},
    id {text} not null unique,
    review {text} not null references review (id) on delete cascade,
    task_id {text} not null references task (id) on delete cascade,
    commit_id {text} not null,
    tree {text} not null,
    author {text} not null,
    is_by_person integer not null,
    decision {text} not null,
    criteria {text} not null,
    message {text} not null,
    session {text},
    created_at {text} not null
);

create index review_verdict_task on review_verdict (task_id, tree, number);

create table review_remark (
    number {identity},
    id {text} not null unique,
    review {text} not null references review (id) on delete cascade,
    task_id {text} not null references task (id) on delete cascade,
    author {text} not null,
    is_by_person integer not null,
    commit_id {text} not null,
    path {text} not null,
    line integer not null,
    code {text} not null,
    body {text} not null,
    state {text} not null,
    settled_commit {text} not null,
    created_at {text} not null,
    sent_at {text},
    seen_at {text},
    settled_at {text}
);

create index review_remark_task on review_remark (task_id, number);
