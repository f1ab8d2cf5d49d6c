-- Full text over what people and agents write. One index for all of it, kept by triggers so that no write can forget
-- it. A row's id is the number of what it stands for, times four, plus its kind: task 0, comment 1, note 2, learning 3.

create virtual table search using fts5 (
    entity unindexed, id unindexed, title, body, tokenize = "unicode61 remove_diacritics 2"
);

create trigger task_indexed after insert on task begin
    insert into search (rowid, entity, id, title, body)
    values (new.number * 4, 'task', new.id, new.title, new.description || ' ' || new.hints || ' ' || new.tags);
end;
create trigger task_reindexed after update of title, description, hints, tags on task begin
    delete from search where rowid = old.number * 4;
    insert into search (rowid, entity, id, title, body)
    values (new.number * 4, 'task', new.id, new.title, new.description || ' ' || new.hints || ' ' || new.tags);
end;
create trigger task_unindexed after delete on task begin
    delete from search where rowid = old.number * 4;
end;

create trigger comment_indexed after insert on comment begin
    insert into search (rowid, entity, id, title, body) values (new.number * 4 + 1, 'comment', new.id, '', new.body);
end;
create trigger comment_reindexed after update of body on comment begin
    delete from search where rowid = old.number * 4 + 1;
    insert into search (rowid, entity, id, title, body) values (new.number * 4 + 1, 'comment', new.id, '', new.body);
end;
create trigger comment_unindexed after delete on comment begin
    delete from search where rowid = old.number * 4 + 1;
end;

create trigger note_indexed after insert on note begin
    insert into search (rowid, entity, id, title, body) values (new.number * 4 + 2, 'note', new.id, '', new.content);
end;
create trigger note_unindexed after delete on note begin
    delete from search where rowid = old.number * 4 + 2;
end;

create trigger learning_indexed after insert on learning begin
    insert into search (rowid, entity, id, title, body)
    values (new.number * 4 + 3, 'learning', new.id, '', new.text || ' ' || new.reason);
end;
create trigger learning_reindexed after update of text, reason on learning begin
    delete from search where rowid = old.number * 4 + 3;
    insert into search (rowid, entity, id, title, body)
    values (new.number * 4 + 3, 'learning', new.id, '', new.text || ' ' || new.reason);
end;
create trigger learning_unindexed after delete on learning begin
    delete from search where rowid = old.number * 4 + 3;
end;

insert into search (rowid, entity, id, title, body)
    select number * 4, 'task', id, title, description || ' ' || hints || ' ' || tags from task;
insert into search (rowid, entity, id, title, body) select number * 4 + 1, 'comment', id, '', body from comment;
insert into search (rowid, entity, id, title, body) select number * 4 + 2, 'note', id, '', content from note;
insert into search (rowid, entity, id, title, body)
    select number * 4 + 3, 'learning', id, '', text || ' ' || reason from learning;
