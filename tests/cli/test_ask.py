"""`bn ask`, and the questions on top of `bn`."""

import json

import pytest


@pytest.fixture
def asked(bn) -> tuple[str, str]:
    """A task in needs_input and the question it waits for, asked by the agent that worked on it."""
    task = bn.add("Write the login")
    bn("task", "start", task, env=bn.agent("bob"))
    question = ask(bn, "Keep the old column?", blocking=True, options=["keep it", "drop it"], preferred="drop it")
    bn("tool", "report_stuck", json.dumps({"reason": "do not know"}), env=bn.agent("bob"))
    return task, question


def ask(bn, text, **arguments) -> str:
    given = json.dumps({"question": text, **arguments})
    return bn("tool", "report_question", given, env=bn.agent("bob"))["data"]["question"]["id"]


def test_the_open_questions_are_on_top_with_how_to_answer(bn, asked):
    task, question = asked
    assert bn("task", "show", task)["task"]["status"] == "needs_input"
    (shown,) = bn()["questions"]
    assert (shown["id"], shown["task_id"], shown["blocking"]) == (question, task, True)
    assert shown["answer_with"] == f"bn ask answer {question} NUMBER"
    text = bn.human()
    for words in ("Keep the old column?", "1. keep it", "2. drop it", f"bn ask answer {question} NUMBER", "bna-"):
        assert words in text
    assert text.index("Keep the old column?") < text.index("0/1 done")


def test_an_answer_by_number_makes_the_task_pending_again(bn, asked):
    task, question = asked
    answered = bn("ask", "answer", question, "2")
    assert (answered["question"]["answer"], answered["question"]["answered_by"]) == ("drop it", "ann")
    assert (answered["task"]["status"], answered["still_open"]) == ("pending", 0)
    assert bn()["questions"] == []
    assert "column" not in bn.human()
    shown = bn.human("task", "show", task)
    assert "Keep the old column?" in shown
    assert "ann: drop it" in shown


@pytest.mark.parametrize(
    ("words", "answer"), [(["Drop", "IT"], "drop it"), (["rename", "it", "first"], "rename it first")]
)
def test_an_answer_in_words_needs_no_quotes(bn, asked, words, answer):
    said = bn.human("ask", "answer", asked[1], *words)
    assert answer in said
    assert "is pending" in said


def test_an_answer_may_come_from_a_pipe(bn, asked):
    assert bn("ask", "answer", asked[1], "-", stdin="keep it\n")["question"]["answer"] == "keep it"


def test_answers_that_cannot_be_are_refused(bn, asked):
    _, question = asked
    assert bn.fails("ask", "answer", question, "3")["code"] == "E_INVALID_PARAMS"
    assert bn.fails("ask", "answer", question, " ")["code"] == "E_INVALID_PARAMS"
    refused = bn.fails("ask", "answer", question, "1", env=bn.agent("bob"))
    assert refused["code"] == "E_PERSON_NEEDED"
    assert bn.fails("ask", "answer", "bnq-0", "1")["code"] == "E_NOT_FOUND"
    bn("ask", "answer", question, "1")
    assert "keep it" in bn.fails("ask", "answer", question, "2")["message"]


def test_list_and_show(bn, asked):
    task, question = asked
    assert [one["id"] for one in bn("ask", "list")["questions"]] == [question]
    assert "holds it up" in bn.human("ask", "list")
    shown = bn("ask", "show", question.removeprefix("bnq-"))
    assert (shown["question"]["preferred"], shown["task"]["id"]) == ("drop it", task)
    text = bn.human("ask", "show", question)
    for words in ("Keep the old column?", "2. drop it", "Write the login", "needs_input"):
        assert words in text
    bn("ask", "answer", question, "1")
    assert bn("ask", "list") == {"questions": [], "total": 0}
    assert "no questions" in bn.human("ask", "list")
    assert bn("ask", "list", "--all")["questions"][0]["answer"] == "keep it"
    assert "keep it" in bn.human("ask", "show", question)


def test_a_question_without_options_is_answered_in_words(bn):
    task = bn.add("Write the login")
    bn("task", "start", task, env=bn.agent("bob"))
    question = ask(bn, "Who may log in?", blocking=False)
    assert bn()["questions"][0]["answer_with"] == f"bn ask answer {question} TEXT"
    assert bn("ask", "answer", question, "2")["question"]["answer"] == "2"
