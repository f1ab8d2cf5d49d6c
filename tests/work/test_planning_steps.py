"""What is left to plan follows from the text, from what tasks cover, and from the steps that are done."""

from binnacle.work import planning_steps, specification
from binnacle.work.planning_steps import carry_over, compare, cut_part, find_next_step
from binnacle.work.specification import find_coverage, parse_specification

CHAPTER = "".join(f"- item {number} {'word ' * 40}\n" for number in range(40))
LONG = "".join(f"# Chapter {number}\n\n{CHAPTER}\n" for number in range(1, 8))


def walk(text, plan, *, stop=20):
    """The names of all steps, if `plan` says what the tasks of each cover."""
    spec, covers, done, names = parse_specification(text), {}, set(), []
    while step := find_next_step(spec, find_coverage(spec, covers), done):
        covers[step.key] = plan(step)
        done.add(step.key)
        names.append(step.name)
        assert len(names) < stop
    return names, find_coverage(spec, covers).missing


def test_every_part_has_a_step_and_none_comes_twice():
    names, missing = walk(LONG, lambda step: [one.id for one in step.uncovered])
    assert len(names) > 2
    assert names == [f"part {number} of {len(names)}" for number in range(1, len(names) + 1)]
    assert missing == []


def test_what_a_planner_left_comes_once_more_after_all_parts():
    left = {"R3", "R200"}
    names, missing = walk(LONG, lambda step: [one.id for one in step.uncovered if one.id not in left])
    assert [name.partition(" of ")[0] for name in names if "not covered" in name] == ["part 1", "part 3"]
    assert names[-2:] == [name for name in names if "not covered" in name]
    assert {one.id for one in missing} == left


def test_a_part_whose_requirements_have_tasks_needs_no_planner():
    spec = parse_specification(LONG)
    covered = {"bn-1": [one.id for one in spec.requirements if one.id != "R1"]}
    step = find_next_step(spec, find_coverage(spec, covered), ())
    assert step is not None
    assert (step.part.number, [one.id for one in step.uncovered]) == (1, ["R1"])
    assert find_next_step(spec, find_coverage(spec, {"bn-1": ["R1-R280"]}), ()) is None


def test_a_text_without_requirements_is_planned_once():
    assert walk("---\n", lambda _: []) == ([""], [])


def test_no_more_parts_are_planned_than_are_allowed(monkeypatch):
    monkeypatch.setattr(planning_steps, "MAX_PARTS", 1)
    names, missing = walk(LONG, lambda step: [one.id for one in step.uncovered])
    assert (len(names), bool(missing)) == (1, True)


def test_a_changed_part_is_a_step_again():
    before, after = parse_specification("- a\n- b\n"), parse_specification("- a\n- c\n")
    first = find_next_step(before, find_coverage(before, {}), ())
    assert first is not None
    assert find_next_step(before, find_coverage(before, {"bn-1": ["R1"]}), {first.key}).is_repeated
    assert not find_next_step(after, find_coverage(after, {"bn-1": ["R1"]}), {first.key}).is_repeated


def test_only_what_is_too_large_for_an_agent_is_cut_and_says_so():
    assert cut_part(LONG[:1000]) == LONG[:1000]
    size = specification.MAX_BLOCK_TOKENS * 4
    assert cut_part("é" * size).startswith("é" * (size // 2) + "\n\n… cut here: about 30000 tokens are left out")


def test_requirements_are_known_again_by_their_words():
    before = parse_specification("- one\n- two\n- same\n- same\n- [A1] old words\n")
    after = parse_specification("- zero\n- two\n- ONE\n- same\n- [A1] new words\n")
    change = compare(before, after)
    assert change.ids == {"R1": "R3", "R2": "R2", "R3": "R4"}
    assert [one.id for one in change.added] == ["R1", "A1"]
    assert [one.text for one in change.removed] == ["same", "[A1] old words"]
    assert carry_over(["R1-R4", "a1", "R77"], before, change) == ("R3", "R2", "R4")
