-- The tasks that a run is about, if it is about a selection: their ids.

alter table run add column tasks {text} not null default '[]';
