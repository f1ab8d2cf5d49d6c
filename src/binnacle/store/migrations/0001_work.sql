-- The work model. Written in the SQL that SQLite and PostgreSQL share; {identity} and {text} are filled in per engine.
-- Times are text of fixed width in UTC, lists are JSON text, truth is 0 or 1.

create table feature (
    number {identity},
    name {text} not null unique,
    title {text} not null,
    acronym {text} not null unique,
    description {text} not null,
    architecture {text} not null,
    boundaries {text} not null,
    knowledge_paths {text} not null,
    context_files {text} not null,
    dependencies {text} not null,
    created_at {text} not null,
    updated_at {text} not null
);

create table discipline (
    number {identity},
    name {text} not null unique,
    title {text} not null,
    acronym {text} not null unique,
    icon {text} not null,
    colour {text} not null,
    system_prompt {text} not null,
    skills {text} not null,
    conventions {text} not null,
    upstreams {text} not null,
    denied_tools {text} not null,
    created_at {text} not null,
    updated_at {text} not null
);

create table task (
    number {identity},
    id {text} not null unique,
    title {text} not null,
    title_key {text} not null,
    description {text} not null,
    kind {text} not null,
    status {text} not null,
    priority integer not null check (priority between 0 and 4),
    feature {text} references feature (name),
    discipline {text} references discipline (name),
    parent {text} references task (id),
    acceptance_criteria {text} not null,
    context_files {text} not null,
    hints {text} not null,
    pseudocode {text} not null,
    output_artifacts {text} not null,
    estimated_turns integer,
    tags {text} not null,
    provenance {text} not null,
    open_dependencies integer not null default 0 check (open_dependencies >= 0),
    queue_position bigint,
    queue_rank bigint not null default 1000000000,
    claimed_by {text},
    claim_expires_at {text},
    fence integer not null default 0,
    closed_reason {text} not null default '',
    created_at {text} not null,
    updated_at {text} not null,
    closed_at {text},
    enriched_at {text}
);

create unique index task_title on task (title_key) where status <> 'cancelled';
create index task_ready on task (status, open_dependencies, queue_rank, priority, number);
create index task_open on task (priority, number) where status not in ('done', 'cancelled');
create index task_feature on task (feature, status);
create index task_discipline on task (discipline);
create index task_parent on task (parent) where parent is not null;
create index task_claim on task (claimed_by) where claimed_by is not null;
create index task_lapse on task (claim_expires_at) where claim_expires_at is not null;
create index task_queue on task (queue_position) where queue_position is not null;

create table dependency (
    task_id {text} not null references task (id) on delete cascade,
    depends_on {text} not null references task (id),
    reason {text} not null,
    created_at {text} not null,
    primary key (task_id, depends_on)
);

create index dependency_reverse on dependency (depends_on);

create table comment (
    number {identity},
    id {text} not null unique,
    task_id {text} not null references task (id) on delete cascade,
    author {text} not null,
    discipline {text},
    body {text} not null,
    created_at {text} not null,
    updated_at {text} not null
);

create index comment_task on comment (task_id, number);

create table learning (
    number {identity},
    id {text} not null unique,
    feature {text} references feature (name),
    text {text} not null,
    reason {text} not null,
    source {text} not null,
    task_id {text} references task (id) on delete set null,
    iteration integer,
    hit_count integer not null,
    reviewed integer not null,
    created_at {text} not null,
    updated_at {text} not null
);

create index learning_feature on learning (feature, number);

create table session (
    number {identity},
    id {text} not null unique,
    name {text} not null,
    recipe {text} not null,
    discipline {text},
    feature {text},
    task_id {text},
    status {text} not null,
    reason {text} not null,
    created_at {text} not null,
    ended_at {text}
);

create table iteration (
    session {text} not null references session (id) on delete cascade,
    number integer not null,
    task_started {text},
    summary {text} not null,
    started_at {text} not null,
    ended_at {text},
    primary key (session, number)
);

create table note (
    number {identity},
    id {text} not null unique,
    type {text} not null,
    content {text} not null,
    session {text},
    iteration integer,
    author {text} not null,
    created_at {text} not null
);

create table progress (
    number {identity},
    text {text} not null,
    author {text} not null,
    session {text},
    created_at {text} not null
);

create table agent (
    number {identity},
    id {text} not null unique,
    name {text} not null,
    type {text} not null,
    registered {text} not null,
    pid bigint,
    process_started {text},
    parent_pid bigint,
    created_at {text} not null,
    active_at {text} not null,
    ended_at {text}
);

create table event (
    seq {identity},
    at {text} not null,
    actor {text} not null,
    session {text},
    entity {text} not null,
    entity_id {text} not null,
    action {text} not null,
    changes {text} not null
);

create index event_entity on event (entity_id, seq);
