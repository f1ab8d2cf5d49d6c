"""What is loaded for a prompt, from a real store and a real folder."""

import os
from datetime import timedelta

import pytest

from binnacle.errors import NotFound
from binnacle.plan.codebase import survey
from binnacle.plan.prompt_data import MAX_OPEN_TASKS, ContextFile, first_sentence, load
from binnacle.store import comments, features, learnings, notes, sessions, task_moves, tasks
from binnacle.work.task import NewTask
from places import NOW
from store.verbs import AGENT, again, do, put, see


@pytest.fixture
def repo(tmp_path, monkeypatch):
    """A repository of its own, untouched by what the person running the tests has configured."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / "harbour"
    folder.mkdir()
    return folder


def write(repo, *paths):
    for path in paths:
        target = repo / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("")


def look(store, repo, **options):
    return see(store, load, str(repo), **options)


def test_an_empty_project_is_its_folder(store, repo):
    found = look(store, repo)
    assert (found.project, found.root, found.now) == ("harbour", "harbour", NOW)
    assert (found.overview.tasks, found.task, found.feature, found.discipline) == (0, None, None, None)
    assert (found.listing, found.learnings, found.history, found.attempts, found.answers) == ((), (), (), (), ())


def test_a_project_is_called_what_its_settings_say(store, repo):
    write(repo, ".binnacle/config.toml")
    (repo / ".binnacle/config.toml").write_text('[project]\ntitle = "The harbour"\ndescription = "Ships."\n')
    found = look(store, repo)
    assert (found.project, found.description, found.root) == ("The harbour", "Ships.", "harbour")


def test_a_task_brings_its_feature_and_its_discipline(store, repo):
    do(store, features.add, "auth", {})
    do(store, features.add, "billing", {})
    do(store, features.add_discipline, "frontend", {})
    task = put(store, "form", feature="auth", discipline="frontend")
    found = look(store, repo, task=task.id)
    assert (found.task.task, found.feature.name, found.discipline.name) == (again(store, task), "auth", "frontend")
    assert look(store, repo, task=task.id, feature="billing").feature.name == "billing"
    assert [one.name for one in found.features] == ["auth", "billing"]
    assert [one.name for one in found.disciplines] == ["frontend"]


@pytest.mark.parametrize("given", [{"task": "bn-ffff"}, {"feature": "auth"}, {"discipline": "frontend"}], ids=str)
def test_what_does_not_exist_is_refused(store, repo, given):
    with pytest.raises(NotFound):
        look(store, repo, **given)


def test_files_of_the_task_come_first_and_the_missing_are_marked(store, repo):
    write(repo, "src/form.py", "docs/auth.md")
    do(store, features.add, "auth", {"context_files": ("src/form.py", "src/gone.py"), "knowledge_paths": ("docs",)})
    task = put(store, feature="auth", context_files=("docs/auth.md", "src/form.py"))
    assert look(store, repo, task=task.id).files == (
        ContextFile(path="docs/auth.md"),
        ContextFile(path="src/form.py"),
        ContextFile(path="src/gone.py", exists=False),
        ContextFile(path="docs"),
    )


def test_learnings_of_the_feature_come_before_those_of_the_project(store, repo):
    do(store, features.add, "auth", {})
    do(store, features.add, "billing", {})
    do(store, learnings.add, "run make before anything else")
    do(store, learnings.add, "tokens last an hour", feature="auth", by=AGENT)
    do(store, learnings.add, "invoices are numbered", feature="billing")
    assert [one.text for one in look(store, repo, feature="auth").learnings] == [
        "tokens last an hour",
        "run make before anything else",
    ]
    assert [one.text for one in look(store, repo).learnings] == ["run make before anything else"]


def test_tasks_are_listed_with_what_they_still_wait_for(store, repo):
    first, second = put(store, "first"), put(store, "second")
    third = put(store, "third", priority=0, depends_on=(first.id, second.id))
    do(store, task_moves.finish, first.id)
    listing = look(store, repo).listing
    assert [(one.task.title, one.waits_for) for one in listing] == [
        ("third", (second.id,)),
        ("second", ()),
        ("first", ()),
    ]
    assert third.id == listing[0].task.id


def test_a_feature_lists_its_own_tasks(store, repo):
    do(store, features.add, "auth", {})
    put(store, "here", feature="auth")
    put(store, "elsewhere")
    assert [one.task.title for one in look(store, repo, feature="auth").listing] == ["here"]


def test_long_lists_are_loaded_in_part_and_counted(store, repo):
    do(store, tasks.add, [NewTask(title=f"task {number}") for number in range(MAX_OPEN_TASKS + 2)])
    for number in range(17):
        do(store, notes.add_progress, f"step {number}")
    found = look(store, repo)
    assert (len(found.listing), len(found.progress)) == (MAX_OPEN_TASKS, 15)
    assert found.unloaded == {"tasks": 2, "notes": 0, "progress": 2}
    assert found.progress[-1].text == "step 16"


def test_what_was_said_on_a_task_comes_newest_first(store, repo):
    task = put(store)
    for body in ("tried", "tried again"):
        do(store, comments.add, task.id, body, by=AGENT)
    assert [one.body for one in look(store, repo, task=task.id).comments] == ["tried again", "tried"]


def test_what_a_task_builds_on_says_all_that_it_left(store, repo):
    done, talked, silent = put(store, "api"), put(store, "db"), put(store, "css")
    do(store, task_moves.finish, done.id, reason="POST /login answers a token. The rest is in docs.")
    do(store, comments.add, talked.id, "Half of it is there.\nThe other half is not.")
    task = put(store, "form", depends_on=(done.id, talked.id, silent.id), reason="the form calls it")
    found = look(store, repo, task=task.id).dependencies
    assert {(one.task.title, one.reason, one.said) for one in found} == {
        ("api", "the form calls it", "POST /login answers a token. The rest is in docs."),
        ("db", "the form calls it", "Half of it is there.\nThe other half is not."),
        ("css", "the form calls it", ""),
    }


def test_a_session_has_its_own_notes_and_history(store, repo):
    ours, theirs = do(store, sessions.start).id, do(store, sessions.start).id
    for session in (ours, theirs):
        do(store, notes.add, [("tip", f"note of {session}")], session=session)
    for number in range(7):
        do(store, sessions.begin_iteration, ours)
        do(store, sessions.summarize, ours, f"did {number}", now=NOW + timedelta(minutes=number))
    do(store, sessions.begin_iteration, ours)
    do(store, sessions.begin_iteration, theirs)
    do(store, sessions.summarize, theirs, "did theirs", now=NOW + timedelta(hours=1))
    found = look(store, repo, session=ours)
    assert [one.content for one in found.notes] == [f"note of {ours}"]
    assert [one.summary for one in found.history] == [f"did {number}" for number in range(2, 7)]
    everyone = look(store, repo)
    assert len(everyone.notes) == 2
    assert [one.summary for one in everyone.history] == ["did 3", "did 4", "did 5", "did 6", "did theirs"]


def test_what_takes_time_is_loaded_only_when_it_is_shown(store, repo):
    write(repo, "src/a.py")
    put(store)
    assert look(store, repo, sections=["project"]).codebase is None
    assert look(store, repo, sections=["project"]).listing == ()
    shown = look(store, repo, sections=["codebase", "tasks"])
    assert (shown.codebase.languages, len(shown.listing)) == ((("Python", 1),), 1)


def test_input_is_taken_as_it_was_given(store, repo):
    found = look(store, repo, user_input="\nDark mode.\n", extra=" Soon. ")
    assert (found.user_input, found.extra) == ("Dark mode.", "Soon.")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", ""),
        ("One. Two.", "One."),
        ("One\ntwo? Three.", "One two?"),
        ("version 1.2 works", "version 1.2 works"),
        ("x" * 200, "x" * 119 + "…"),
    ],
    ids=["empty", "two", "wrapped", "dots", "long"],
)
def test_a_first_sentence(text, sentence):
    assert first_sentence(text) == sentence


def test_a_long_sentence_is_cut_between_words():
    cut = first_sentence("many words, " * 30)
    assert len(cut) <= 120
    assert cut.endswith(("words…", "many…"))


def test_source_files_are_counted_and_what_tools_made_is_left_out(repo):
    write(repo, "README.md", "src/app/a.py", "src/app/b.PY", "src/main.ts", "tools/x.sh", "data.bin")
    write(repo, "node_modules/x/index.js", ".venv/lib/a.py", ".git/config", "build/out.c", "src/__pycache__/a.py")
    found = survey(str(repo))
    assert found.languages == (("Python", 2), ("Shell", 1), ("TypeScript", 1))
    assert found.entries == ("README.md", "data.bin", "src/", "src/app/", "tools/")
    assert (found.left_out, found.is_whole) == (0, True)


def test_thirty_entries_are_shown_the_upper_ones_first(repo):
    write(repo, *(f"part{number:02}/below/a.py" for number in range(25)))
    found = survey(str(repo))
    assert (len(found.entries), found.left_out) == (30, 20)
    assert {f"part{number:02}/" for number in range(25)} < set(found.entries)


def test_a_huge_repository_is_looked_at_in_part(repo):
    write(repo, *(f"src/a{number}.py" for number in range(50)), "src/deep/b.py")
    found = survey(str(repo), limit=10)
    assert not found.is_whole
    assert 0 < dict(found.languages)["Python"] <= 10
    assert found.entries[0] == "src/"


def test_a_repository_of_exactly_the_limit_is_whole(repo):
    write(repo, "src/a.py", "src/b.py", ".git/config")
    assert survey(str(repo), limit=4).is_whole
    assert not survey(str(repo), limit=3).is_whole


def test_links_are_not_followed_and_what_is_gone_is_empty(repo):
    write(repo, "src/a.py")
    os.symlink(str(repo), str(repo / "src" / "again"))
    assert survey(str(repo)).languages == (("Python", 1),)
    assert survey(str(repo / "nowhere")).entries == ()
