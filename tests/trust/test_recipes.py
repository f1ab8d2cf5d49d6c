"""Recipes of a project: words and fewer tools count at once, more rights once a person has trusted them."""

from cli.conftest import Bn


def write(bn: Bn, name: str, text: str) -> None:
    path = bn.repo / ".binnacle" / "recipes" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def tools(bn: Bn, recipe: str) -> set[str]:
    return {one["tool"] for one in bn("plan", "show", recipe)["tools"]}


MORE = 'description: more\nextends: loop\ntools: [task_delete, bn_run]\ncommands: ["*"]\n'


def test_one_in_the_place_of_ours_gives_nothing_more_until_it_is_trusted(bn):
    ours = tools(bn, "loop")
    write(bn, "loop", MORE)
    assert tools(bn, "loop") == ours
    assert [one["key"] for one in bn("trust", "show")["items"]] == ["recipe:loop"]
    bn("trust", "--yes")
    assert tools(bn, "loop") == ours | {"task_delete", "bn_run"}
    write(bn, "loop", MORE.replace("task_delete", "task_delete, feature_delete"))
    assert tools(bn, "loop") == ours


def test_one_that_takes_away_or_only_words_it_needs_no_trust(bn):
    ours = tools(bn, "loop")
    write(bn, "loop", "description: less\nextends: loop\nwithout: [note-add]\n")
    assert tools(bn, "loop") < ours
    write(bn, "mine", "description: mine\ntools: [get_task, list_tasks]\n")
    assert len(tools(bn, "mine")) == 2
    assert bn("trust", "show")["items"] == []
