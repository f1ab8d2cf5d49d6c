-- Full text over what people and agents write. One table for all of it, kept by triggers so that no write can forget
-- it. Words are kept as they are, without accents and without stop words, as SQLite's tokenizer keeps them.

create text search configuration bn_words (copy = simple);

create table search (
    entity text not null,
    id text not null,
    title text not null,
    body text not null,
    words tsvector not null,
    primary key (entity, id)
);
create index search_words on search using gin (words);

-- Left to itself the parser takes src/store.py, a-42 and 1.2.3 for single words, and their parts are never found.
create function bn_spaced(content text) returns text immutable language sql as $$
    select translate(regexp_replace(normalize(content, nfd), '[\u0300-\u036f]', '', 'g'), '!"#$%&''()*+,-./:;<=>?@[\]^_`{{|}}~', repeat(' ', 32));
$$;

create function bn_index(kind text, key text, heading text, content text) returns void language sql as $$
    insert into search (entity, id, title, body, words)
    values (kind, key, heading, content,
        setweight(to_tsvector('bn_words', bn_spaced(heading)), 'A')
        || setweight(to_tsvector('bn_words', bn_spaced(left(content, 200000))), 'B'))
    on conflict (entity, id) do update
        set title = excluded.title, body = excluded.body, words = excluded.words;
$$;

create function bn_index_row() returns trigger language plpgsql as $$
begin
    if tg_op = 'DELETE' then
        delete from search where entity = tg_table_name and id = old.id;
        return old;
    end if;
    case tg_table_name
        when 'task' then
            perform bn_index('task', new.id, new.title, new.description || ' ' || new.hints || ' ' || new.tags);
        when 'comment' then perform bn_index('comment', new.id, '', new.body);
        when 'note' then perform bn_index('note', new.id, '', new.content);
        when 'learning' then perform bn_index('learning', new.id, '', new.text || ' ' || new.reason);
    end case;
    return new;
end;
$$;

create trigger task_indexed after insert or delete or update of title, description, hints, tags on task
    for each row execute function bn_index_row();
create trigger comment_indexed after insert or delete or update of body on comment
    for each row execute function bn_index_row();
create trigger note_indexed after insert or delete on note
    for each row execute function bn_index_row();
create trigger learning_indexed after insert or delete or update of text, reason on learning
    for each row execute function bn_index_row();

select bn_index('task', id, title, description || ' ' || hints || ' ' || tags) from task;
select bn_index('comment', id, '', body) from comment;
select bn_index('note', id, '', content) from note;
select bn_index('learning', id, '', text || ' ' || reason) from learning;
