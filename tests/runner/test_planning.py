"""Specifications are planned whole: part by part, every requirement is covered by a task, or the person is told."""

import re

import msgspec
import pytest

from binnacle.errors import Refused
from binnacle.project.store_opening import open_store
from binnacle.runner import run_events
from binnacle.runner.budget import RunBudget
from binnacle.store import run_planning, runs
from binnacle.work.task import NewTask
from runner.runs import last_event

pytestmark = pytest.mark.usefixtures("nothing_is_left")

PLAN = r"""
import re

uncovered = re.search(r"## Requirements without a task\n\n(.*?)\n\n## ", agent.prompt, re.DOTALL)
if uncovered is None:
    agent.write(f"{agent.task}.txt", agent.title)
    agent.done()
else:
    wanted = re.findall(r"^- (\S+): (.*)", uncovered[1], re.MULTILINE)
    text = re.search(r"## Input\n\n(.*?)\n\n## Requirements", agent.prompt, re.DOTALL)[1]
    agent.keep("wanted", "\n".join(name for name, _ in wanted))
    agent.keep("text", text)
    STEPS
    agent.call("iteration-summary", summary="planned")
"""
"""Plans what it is given, and does each task with a file; what it was given is kept."""

ONE_EACH = r"""
    for name, said in wanted:
        agent.call("task-add", tasks=[{"content": f"Do {said}", "covers": [name]}])
"""
BY_TWENTIES = r"""
    for first in range(0, len(wanted), 20):
        some = [name for name, said in wanted[first : first + 20] if f"ends with the word end{name[1:]}." in text]
        agent.call("task-add", tasks=[{"content": f"Build {some[0]} to {some[-1]}", "covers": some}])
"""
NOT_THE_SECOND = r"""
    for name, said in wanted:
        if "two" not in said:
            agent.call("task-add", tasks=[{"content": f"Do {said}", "covers": [name]}])
"""

WORDS = "# Words\n\n- Say one\n- Say two\n- Say three\n"


def planner(steps: str) -> str:
    return PLAN.replace("    STEPS\n", steps.strip("\n") + "\n")


def long_specification() -> str:
    """About 50 KB: 200 requirements in 10 sections, each of several lines."""
    sections = []
    for section in range(10):
        items = [
            f"- Rule {number} holds for every order\n"
            + "  whatever its customer, its prices, its discounts and its way to the customer are, at any time\n" * 2
            + f"  and ends with the word end{number}.\n"
            for number in range(section * 20 + 1, section * 20 + 21)
        ]
        sections.append(f"## Chapter {section + 1}\n\n{''.join(items)}\n")
    return "# Orders\n\n" + "".join(sections)


def coverage_of(play):
    with open_store(play.runs.project) as store, store.read() as tx:
        return run_planning.load_coverage(tx, runs.find(tx, "words")).coverage


def covers(play) -> dict[str, tuple[str, ...]]:
    return {title: task.covers for title, task in play.runs.tasks().items()}


def started(play) -> list[str]:
    return [one.plans for one in play.runs.kinds(run_events.IterationStarted) if one.is_planning]


class TestParts:
    def test_a_long_specification_is_planned_in_parts_and_all_of_it_is_covered(self, play):
        """Found by trying it: the planner got 61 of 200 requirements, and nobody was told."""
        spec = long_specification()
        assert len(spec) > 50_000
        ended = play.run(planner(BY_TWENTIES), spec=spec)
        assert ended.why == "unproven", ended
        parts = len(started(play))
        assert parts > 1
        assert started(play) == [f"part {number} of {parts}" for number in range(1, parts + 1)]
        assert "\n".join(play.kept("wanted")).split() == [f"R{number}" for number in range(1, 201)]
        texts = [text.partition(":\n\n")[2] for text in play.kept("text")]
        assert "".join("".join(texts).split()) == "".join(spec.split()), "nothing is cut, nothing is there twice"
        found = coverage_of(play)
        assert (found.missing, found.unknown) == ([], {})
        assert [len(tasks) for tasks in found.covered.values()] == [1] * 200
        (told,) = play.runs.kinds(run_events.CoverageReported)
        assert (told.total, told.missing) == (200, ())

    def test_each_planner_sees_the_outline_and_what_the_others_planned(self, play):
        play.run(planner(BY_TWENTIES), spec=long_specification(), budget=RunBudget(iterations=1))
        prompts = play.kept("prompt")[: len(started(play))]
        for number, prompt in enumerate(prompts, 1):
            assert f"Part {number} of {len(prompts)} of the specification" in prompt
            assert all(f"- Chapter {chapter}\n" in prompt for chapter in range(1, 11))
            assert "to its end" not in prompt
        assert re.search(r"\] Build R1 to R20 \(covers R1, R2, ", prompts[1])
        assert "## Tasks" not in prompts[0]

    def test_a_short_one_is_planned_at_once(self, play):
        assert play.run(planner(ONE_EACH), spec=WORDS).why == "unproven"
        assert started(play) == [""]
        assert covers(play) == {"Do Say one": ("R1",), "Do Say two": ("R2",), "Do Say three": ("R3",)}

    def test_a_run_that_is_killed_while_it_plans_goes_on_with_its_part(self, play):
        spec = play.runs.repo.path / "words.md"
        spec.write_text(long_specification())
        steps = r"""
    import time
    half = wanted[: len(wanted) // 2] if "Part 2 of" in text and agent.times("second") == 1 else wanted
    for name, _ in half:
        agent.call("task-add", tasks=[{"content": f"Build {name}", "covers": [name]}])
    if half is not wanted:
        agent.say("half of it\n")
        time.sleep(100)
"""
        words = ("words.md", "--agent", play.agent(planner(steps)), "--approve", "all", "--iterations", "1")
        process = play.runs.command(*words)
        assert process.stdout is not None
        assert any(b"half of it" in line for line in process.stdout)
        process.kill()
        process.communicate(timeout=60)
        again = play.runs.command(*words)
        told, errors = again.communicate(timeout=110)
        events = [msgspec.json.decode(line) for line in told.splitlines()]
        assert events[-1]["why"] == "budget", (events[-1], errors)
        planned = [one for one in events if one["event"] == "iteration_started" and one.get("is_planning")]
        assert planned[0]["plans"].startswith("part 2 of")
        assert (planned[0]["goes_on"], planned[0]["number"]) == (True, 1)
        assert "".join(play.kept("wanted")).count("R1\n") == 1, "the first part is planned once"
        assert play.runs.times("added") == {f"Build R{number}": 1 for number in range(1, 201)}
        (coverage,) = [one for one in events if one["event"] == "coverage"]
        assert "missing" not in coverage


class TestGaps:
    def test_what_no_task_covers_is_given_back_once_then_said_and_stops_the_run(self, play):
        ended = play.run(planner(NOT_THE_SECOND), spec=WORDS)
        assert (ended.why, ended.iterations) == ("needs_input", 0)
        assert ended.said == "no task covers 1 of 3 requirements: R2"
        assert "--allow-gaps" in ended.hint
        assert started(play) == ["", "what is not covered"]
        assert play.kept("wanted") == ["R1\nR2\nR3", "R2"]
        assert "no task covers these:\n- R2: Say two\n" in play.kept("prompt")[1]
        (told,) = play.runs.kinds(run_events.CoverageReported)
        assert told.missing == (run_events.ListedRequirement(id="R2", text="Say two"),)
        assert set(play.runs.statuses()) == {"pending"}

    def test_it_goes_on_where_that_is_allowed_and_is_not_asked_again(self, play):
        play.run(planner(NOT_THE_SECOND), spec=WORDS)
        again = play.run(planner(NOT_THE_SECOND), spec=WORDS)
        assert again.why == "needs_input", "without an answer it does not begin"
        allowed = play.run(planner(NOT_THE_SECOND), allows_gaps=True, is_resumed=True, budget=RunBudget(iterations=1))
        assert allowed.why == "budget"
        assert play.run(planner(NOT_THE_SECOND), is_resumed=True).why == "unproven"
        assert len(play.kept("wanted")) == 2, "nothing is planned again"

    def test_a_task_of_a_person_that_covers_it_is_enough(self, play):
        play.run(planner(NOT_THE_SECOND), spec=WORDS)
        play.add(NewTask(title="Say two", feature="words", covers=("R2",)))
        ended = play.run(planner(NOT_THE_SECOND), is_resumed=True)
        assert (ended.why, ended.closed) == ("unproven", 3)

    def test_a_planner_that_forgot_it_says_what_its_tasks_cover(self, play):
        steps = r"""
    if agent.times("planned") == 1:
        added = agent.text("task-add", tasks=[{"content": f"Do {said}"} for _, said in wanted])
        agent.keep("ids", " ".join(re.findall(r"bn-[0-9a-f]+", added)))
    else:
        ids = (agent.folder / "ids-1").read_text().split()
        for task, (name, _) in zip(ids, wanted):
            agent.call("task-update", id=task, covers=[name])
"""
        assert play.run(planner(steps), spec=WORDS).why == "unproven"
        assert play.kept("wanted") == ["R1\nR2\nR3", "R1\nR2\nR3"]
        assert sorted(covers(play).values()) == [("R1",), ("R2",), ("R3",)]

    @pytest.mark.parametrize(("answer", "why"), [(True, "unproven"), (False, "needs_input")])
    def test_a_person_at_a_terminal_is_asked(self, play, answer, why):
        asked = []

        async def confirm(question: str) -> bool:
            asked.append(question)
            return answer

        assert play.run(planner(NOT_THE_SECOND), spec=WORDS, confirm=confirm).why == why
        assert asked == ["Begin without tasks for these?"]

    def test_what_cannot_be_given_to_an_agent_is_said_before_anything_begins(self, play):
        broken = WORDS.replace("two", "t\ufffdwo")
        ended = play.run(planner(ONE_EACH), spec=broken)
        assert ended.why == "needs_input"
        assert "line 4 has bytes that are no characters" in ended.said
        assert "line 4" in play.runs.kinds(run_events.WarningReported)[0].message
        assert play.kept("prompt") == []
        assert play.run(planner(ONE_EACH), spec=broken, allows_gaps=True).why == "unproven"

    def test_bn_run_stops_and_names_the_option(self, play):
        (play.runs.repo.path / "words.md").write_text(WORDS)
        words = ("words.md", "--agent", play.agent(planner(NOT_THE_SECOND)), "--approve", "all")
        told, errors = (stopped := play.runs.command(*words)).communicate(timeout=110)
        assert (stopped.returncode, last_event(told)["why"]) == (1, "needs_input"), errors
        told, errors = (gone_on := play.runs.command(*words, "--allow-gaps")).communicate(timeout=110)
        assert (gone_on.returncode, last_event(told)["why"]) == (3, "unproven"), errors


class TestChanges:
    def test_only_what_is_new_in_a_changed_specification_is_planned(self, play):
        play.run(planner(ONE_EACH), spec=WORDS, budget=RunBudget(iterations=1))
        changed = "# Words\n\n- Say zero\n- Say one\n- Say three\n"
        ended = play.run(planner(ONE_EACH), spec=changed)
        assert (ended.why, ended.closed) == ("unproven", 4)
        assert play.kept("wanted") == ["R1\nR2\nR3", "R1"]
        (told,) = play.runs.kinds(run_events.SpecificationChanged)
        assert [one.text for one in told.added] == ["Say zero"]
        assert [one.text for one in told.removed] == ["Say two"]
        assert covers(play) == {
            "Do Say zero": ("R1",),
            "Do Say one": ("R2",),
            "Do Say two": (),
            "Do Say three": ("R3",),
        }

    def test_a_run_that_is_complete_plans_what_was_added_since(self, play):
        play.run(planner(ONE_EACH), spec=WORDS)
        ended = play.run(planner(ONE_EACH), spec=WORDS + "- Say four\n")
        assert (ended.why, ended.closed) == ("unproven", 1)
        assert play.kept("wanted") == ["R1\nR2\nR3", "R4"]

    def test_another_specification_under_the_name_of_an_unfinished_run_is_refused(self, play):
        play.run(planner(ONE_EACH), spec=WORDS, budget=RunBudget(iterations=1))
        with pytest.raises(Refused, match="another specification") as refused:
            play.run(planner(ONE_EACH), spec="- Paint it\n")
        assert "--name" in refused.value.hint
        assert covers(play)["Do Say two"] == ("R2",)
        ended = play.run(planner(ONE_EACH), spec="- Paint it\n", is_reset=True)
        assert (ended.why, covers(play)["Do Paint it"]) == ("unproven", ("R1",))

    def test_two_specifications_with_the_same_titles_are_planned_and_done(self, play):
        steps = r"""
    agent.call("task-add", tasks=[{"content": "Write tests", "covers": [name for name, _ in wanted]}])
"""
        first = play.run(planner(steps), spec="- Carts\n", name="carts", budget=RunBudget(iterations=0))
        second = play.run(planner(steps), spec="- Orders\n", name="orders")
        assert (first.why, second.why, second.closed) == ("budget", "unproven", 1)
        third = play.run(planner(steps), spec="- Ships\n", name="ships")
        assert (third.why, play.run(planner(steps), name="carts").why) == ("unproven", "unproven")
        with open_store(play.runs.project) as store, store.read() as tx:
            assert [run_planning.load_coverage(tx, run).coverage.missing for run in runs.list_runs(tx)] == [[], [], []]


def test_a_stop_while_it_plans_is_an_interruption(play):
    def on(event, control):
        if isinstance(event, run_events.IterationStarted):
            control.stop()

    assert play.run(planner(ONE_EACH), spec=WORDS, on=on).why == "interrupted"
    assert play.run(planner(ONE_EACH), spec=WORDS).why == "unproven"
