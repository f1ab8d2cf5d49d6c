-- Which client an agent is, which session it works in, and which server process its connection goes to.

alter table agent add column client {text} not null default '';
alter table agent add column session {text};
alter table agent add column token {text} not null default '';
alter table agent add column server_pid bigint;
alter table agent add column server_started {text};

create index agent_alive on agent (number) where ended_at is null;

-- What proves that a process belongs to a session: a digest of the secret that the session hands to what it starts.

alter table session add column secret {text} not null default '';
