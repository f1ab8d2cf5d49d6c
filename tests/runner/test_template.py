"""The prompt of an iteration from a template."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from binnacle.app.prompt_templates import own_names
from binnacle.config.trust import keep
from binnacle.errors import ConfigError
from binnacle.plan.session_plan import SessionSubject, bind, choose, shown_names
from binnacle.runner.prompt_template import (
    DEFAULT_TEMPLATE,
    TEMPLATE_VARIABLES,
    PromptTemplate,
    TemplateValues,
    check_template,
    find_template,
    find_trust_items,
    render_template,
)
from plan.loaded import a_discipline, a_note, everything, loaded
from plan.test_property import TELLING, mentioned
from plan.test_shipped_recipes import the_catalog, the_recipe

TOOLS = own_names(the_catalog())
VALUES = TemplateValues(run="blue", session="bns-0001", iteration=3)


def shown(*denied: str, recipe: str = "loop") -> dict[str, str]:
    """The tools of a session, own name → shown name."""
    about = SessionSubject(a_discipline(denied_tools=denied), None, None)
    rules, _ = choose(the_recipe(recipe), the_catalog(), about.discipline)
    return shown_names(bind(the_recipe(recipe), rules, the_catalog(), about))


def made(text: str, given=None, *, names=None, values: TemplateValues = VALUES, recipe: str = "loop") -> str:
    template = PromptTemplate(text=text, file="run.md")
    given = replace(everything(), extra="", run=None) if given is None else given
    return render_template(
        template, the_recipe(recipe), given, shown() if names is None else names, values, tools=TOOLS
    )


class TestVariables:
    def test_a_run_says_what_it_is(self):
        assert made("{{run}} {{session}} {{ iteration }}") == "blue bns-0001 3\n"
        assert made("{{run}} {{iteration}}", values=TemplateValues(session="bns-0001")) == "bns-0001 \n"

    @pytest.mark.parametrize("name", sorted(TEMPLATE_VARIABLES))
    def test_each_has_something_to_say_where_there_is_something(self, name):
        assert made(f"{{{{{name}}}}}", everything()).strip()

    def test_spec_and_extra_are_apart(self):
        given = loaded(user_input="Build it.", extra="And quickly.")
        assert made("[{{spec}}] [{{extra}}]", given) == "[Build it.] [And quickly.]\n"

    def test_what_came_up_is_told_even_if_the_template_forgets_it(self):
        assert made("Work.", loaded(extra="The tests fail.")) == "Work.\n\n## Also\n\nThe tests fail.\n"

    def test_so_is_what_decides_in_a_run(self):
        text = made("Work.\n\n## Mine\n\n{{task}}", everything())
        assert re.findall("^## .*", text, re.MULTILINE) == [
            *("## Mine", "## Earlier attempts", "## Answers to questions", "## What reviewers ask you to change"),
            *(
                "## What was asked for",
                "## A conflict to resolve first",
                "## Where you work and what you may do",
                "## Also",
            ),
        ]
        assert text.count("Build the login form") == 1

    def test_the_whole_spec_is_there_only_where_a_template_wants_it(self):
        given = replace(everything(), user_input="All of it.")
        assert "All of it." in made("{{spec}}", given)
        assert "All of it." not in made(find_template(".", DEFAULT_TEMPLATE).text, given)

    def test_parts_are_those_of_the_plan(self):
        assert made("{{notes}}", loaded(notes=(a_note("use fetch"),))) == "- [tip] use fetch\n"
        assert made("{{instructions}}").startswith("1. Do the task above and no other; `task-next`")
        assert made("{{instructions}}", loaded()).startswith("1. Choose one task with `task-next`")

    def test_parts_are_cut_to_their_budget(self):
        many = loaded(notes=tuple(a_note(f"{number} {'x' * 500}") for number in range(200)))
        text = made("{{notes}}", many)
        assert "earlier notes" in text
        assert len(text) < 8000

    @pytest.mark.parametrize(
        ("text", "line", "word", "hint"),
        [
            ("{{specc}}", 1, "specc", "did you mean 'spec'?"),
            ("a\n\n## b\n{{sesion}}", 4, "sesion", "did you mean 'session'?"),
            ("{{task_nxt}}", 1, "task_nxt", "did you mean 'task_next'?"),
            ("{{port}}", 1, "port", "instructions"),
            ("{{}}", 1, "", "run, session"),
            ("{{a b}}", 1, "a b", "run, session"),
        ],
    )
    def test_one_that_is_not_known_is_an_error_with_its_line(self, text, line, word, hint):
        with pytest.raises(ConfigError) as refused:
            made(text)
        assert refused.value.message == f"run.md:{line}: unknown variable {word!r}"
        assert hint in refused.value.hint

    def test_braces_may_be_braces(self):
        assert made(r"\{{spec}} {x} {{ }") == "{{spec}} {x} {{ }\n"

    def test_what_is_put_in_is_not_looked_at_again(self):
        given = loaded(user_input="{{extra}} {{nothing}}", extra="{{spec}}")
        assert made("{{spec}}\n{{extra}}", given) == "{{extra}} {{nothing}}\n{{spec}}\n"


class TestShape:
    def test_a_heading_with_nothing_under_it_goes(self):
        text = "# Run\n\n## Notes\n\n{{notes}}\n\n## Spec\n\n{{spec}}\n\n## Rules\n\nBe kind."
        assert made(text, loaded(user_input="Build it.")) == "# Run\n\n## Spec\n\nBuild it.\n\n## Rules\n\nBe kind.\n"

    def test_an_empty_value_leaves_no_hole(self):
        assert made("a\n\n{{notes}}\n\nb", loaded()) == "a\n\nb\n"
        assert made("a\n{{notes}}\nb", loaded()) == "a\nb\n"

    def test_blank_lines_of_a_value_stay(self):
        spec = "def a():\n    pass\n\n\ndef b():\n    pass"
        assert made("## Spec\n\n{{spec}}", loaded(user_input=spec)) == f"## Spec\n\n{spec}\n"

    def test_a_comment_in_code_is_no_heading(self):
        text = "```sh\n# set up\nmake\n```"
        assert made(text) == f"{text}\n"

    def test_an_empty_template_is_an_empty_prompt(self):
        assert made("") == ""


class TestTools:
    def test_they_have_the_names_of_the_session(self):
        assert made("Take one with `{{task_next}}`.") == "Take one with `task-next`.\n"
        assert made("Take one with `{{list_tasks}}`.") == "Take one with `task-list`.\n", "by any of their names"

    def test_a_sentence_about_one_that_is_not_there_goes(self):
        text = "Begin. End with {{session_complete}}.\n\n- Use {{task_update}}.\n- Use task-list."
        assert made(text, names=shown("session_complete", "task_list")) == "Begin.\n\n- Use task-update.\n"

    def test_a_section_of_nothing_else_goes_with_its_heading(self):
        assert made("# Run\n\n## If stuck\n\nUse {{note_add}}.", names=shown("note_add")) == "# Run\n"

    def test_tools_of_other_servers_may_be_named(self):
        assert made("Ask {{mcp_github_search}}. Or not.") == "Or not.\n"


class TestFiles:
    def test_the_one_in_the_box_is_sound(self):
        template = find_template(".", DEFAULT_TEMPLATE)
        check_template(template, TOOLS)
        for heading in (
            "Recent progress",
            "What was asked for",
            "Your task",
            "Current tasks",
            "Notes",
            "Rules",
            "Workflow",
            "If stuck",
            "Subagents",
        ):
            assert f"\n## {heading}\n" in template.text
        assert not re.search(r"\bbn\b|\|", template.text), "no commands and no table of them"
        assert not mentioned(re.sub(r"\{\{.*?\}\}", "", template.text)), "tools by variables only"

    def test_the_one_that_is_named_or_the_projects_or_the_one_in_the_box(self, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
        assert find_template(str(tmp_path)).file == DEFAULT_TEMPLATE
        own = tmp_path / ".binnacle" / "prompts" / "run.md"
        own.parent.mkdir(parents=True)
        own.write_text("mine")
        assert find_template(str(tmp_path)).file == DEFAULT_TEMPLATE, "nobody has trusted it"
        keep(str(tmp_path), find_trust_items(str(tmp_path)), by="ann", at="", how="terminal")
        assert find_template(str(tmp_path)).text == "mine"
        (tmp_path / "other.md").write_text("\ufeffother\r\n")
        assert find_template(str(tmp_path), str(tmp_path / "other.md")).text == "other\n"
        for missing in ("nowhere.md", "."):
            with pytest.raises(ConfigError, match="cannot read"):
                find_template(str(tmp_path), str(tmp_path / missing))


words = st.sampled_from([*TELLING, *(f"{{{{{name}}}}}" for name in [*TELLING, *TEMPLATE_VARIABLES])]) | st.sampled_from(
    ["Use", "it", "e.g.", "Then", "#", "-", "1.", ">", "`", "```", "\n", "\n\n", ".", "! ", "?", "\\", "{{", "}}", "\t"]
)
denials = st.sets(st.sampled_from(sorted({rule.name for rule in the_recipe("loop").tools})))


@settings(max_examples=300)
@given(parts=st.lists(words, max_size=40), denied=denials)
def test_no_template_names_a_tool_that_is_not_there(parts, denied):
    names = shown(*denied)
    try:
        text = made(" ".join(parts), names=names)
    except ConfigError:
        return  # braces that pair up around other words are variables nobody knows
    assert mentioned(text) <= set(names.values())


@settings(max_examples=50)
@given(denied=denials)
def test_nor_does_the_one_in_the_box(denied):
    names = shown(*denied)
    text = made(find_template(".", DEFAULT_TEMPLATE).text, names=names)
    assert mentioned(text) <= set(names.values())
    assert "{{" not in text
    assert "``" not in text


@settings(max_examples=200)
@given(
    text=st.text(st.characters(codec="utf-8") | st.sampled_from("{}\\#\n `"), max_size=80), spec=st.text(max_size=40)
)
def test_any_text_is_rendered_or_refused_with_a_line(text, spec):
    refused = None
    try:
        made(text, loaded(user_input=spec))
    except ConfigError as error:
        refused = error
    assert refused is None or re.match(r"run\.md:\d+: unknown variable ", refused.message)
    assert refused is None or refused.hint


@given(spec=st.text(st.sampled_from("{}#-`\\ \nsx."), min_size=1, max_size=60))
def test_a_value_stands_in_the_prompt_as_it_is(spec):
    found = made("before\n\n{{spec}}\n\nafter", loaded(user_input=spec.strip()))
    assert found.startswith("before\n\n")
    assert spec.strip() in found
