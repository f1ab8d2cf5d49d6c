-- What the rows of a person's change were like before and after it, so that it can be undone. One entry for each change,
-- by the numbers of its first and last event; a change that cannot be undone has no images.

create table undo (
    last_event bigint primary key,
    first_event bigint not null,
    actor {text} not null,
    images {text} not null,
    undoes {text} not null
);

create index undo_actor on undo (actor, last_event);
