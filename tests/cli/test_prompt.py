"""`bn prompt show`: what the agent of a session reads first, and what it costs."""

import json

import pytest


@pytest.fixture
def auth(bn) -> str:
    bn("feature", "add", "auth", "--description", "Logging in.")
    bn("discipline", "add", "tester", "--deny", "task_status", "--system-prompt", "You test. Call task_status never.")
    return bn.add("Build the form", "--feature", "auth", "--discipline", "tester")


def test_the_prompt_and_what_each_section_costs(bn, auth):
    found = bn("prompt", "show", "task", "--task", auth, "--input", "Keep it small.")
    assert set(found) == {"recipe", "prompt", "sections", "tokens"}
    sections = [one["name"] for one in found["sections"]]
    assert sections[0] == "project"
    assert sections[-3:] == ["task", "input", "instructions"]
    assert all(one["tokens"] > 0 and one["cut"] == "" for one in found["sections"])
    assert found["tokens"]["total"] == found["tokens"]["prompt"] + found["tokens"]["tools"]
    for text in ("Build the form", "Logging in.", "You test.", "Keep it small."):
        assert text in found["prompt"]
    assert "task_status" not in found["prompt"]
    assert found["tokens"] == bn("plan", "show", "task", "--task", auth)["tokens"] | {
        name: found["tokens"][name] for name in ("prompt", "total")
    }


def test_the_input_may_come_from_stdin(bn):
    assert "Two\nlines." in bn("prompt", "show", "brainstorm", "--input", "-", stdin="Two\nlines.\n")["prompt"]


def test_without_a_recipe_it_is_the_default_one(bn):
    assert bn("prompt", "show") == bn("prompt", "show", "default")


def test_people_see_the_prompt_and_below_it_the_costs(bn, auth):
    text = bn.human("prompt", "show", "task", "--task", auth)
    prompt = bn("prompt", "show", "task", "--task", auth)["prompt"]
    assert text.startswith(prompt.rstrip())
    table = text[len(prompt.rstrip()) :].split("\n")
    assert table[2].split() == ["SECTION", "TOKENS", "LEFT", "OUT"]
    assert [line.split()[0] for line in table if line.startswith(("prompt", "tools"))] == ["prompt", "tools"]


def test_what_was_cut_is_said(bn):
    tasks = [{"title": f"Task number {number} with a title that fills its share of the room"} for number in range(120)]
    bn("tool", "task_add", "-", stdin=json.dumps({"tasks": tasks}))
    folder = bn.repo / ".binnacle" / "recipes"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text("description: ours\ntools: [list_tasks]\nsections: [tasks]\nbudget: 500\n")
    found = bn("prompt", "show", "mine")
    (listing,) = found["sections"]
    assert "more tasks" in listing["cut"]
    assert "`list_tasks` shows all." in listing["cut"]
    assert listing["cut"] in found["prompt"]
    assert "more tasks" in bn.human("prompt", "show", "mine").rpartition("SECTION")[2]
    assert found["tokens"]["prompt"] <= 500


def test_a_template_is_written_once_and_used_at_once(bn):
    found = bn("prompt", "template")
    assert bn.human("prompt", "template") == found["template"]
    assert {"spec", "tasks", "history"} <= set(found["variables"])
    task = bn.add("Build the form")
    made = bn("prompt", "template", "-o", ".binnacle/prompts/run.md")
    assert (bn.repo / ".binnacle/prompts/run.md").read_text() == found["template"]
    assert "bn run uses it" in made["next"]
    assert bn.fails("prompt", "template", "-o", ".binnacle/prompts/run.md")["code"] == "E_DUPLICATE"
    bn("prompt", "template", "-o", ".binnacle/prompts/run.md", "--force")
    words = ("prompt", "show", "loop", "--template", ".binnacle/prompts/run.md", "--task", task)
    shown = bn(*words, "--input", "Keep it small.")
    assert f"## Your task\n\n**{task}: Build the form**" in shown["prompt"]
    assert "## What was asked for\n\nKeep it small.\n" in shown["prompt"]
    assert "## Where you work and what you may do\n" in shown["prompt"], "as the agent of a run reads it"
    assert shown["sections"][0]["name"] == "template"


def test_a_template_with_a_variable_that_nobody_knows_is_refused(bn):
    (bn.repo / "mine.md").write_text("# {{run}}\n{{taks}}\n")
    error = bn.fails("prompt", "show", "loop", "--template", "mine.md")
    assert error["code"] == "E_CONFIG"
    assert "mine.md:2: unknown variable 'taks'" in error["message"]
    assert "did you mean 'task'?" in error["hint"]
