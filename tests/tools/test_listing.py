"""What agents see of the catalog: complete, consistent and short."""

import pytest

from binnacle.tools.bn_tools import BnTools
from binnacle.tools.catalog import Catalog
from binnacle.tools.exposed_tool import ExposedTool
from binnacle.tools.json_schema import input_schema
from binnacle.tools.work.all_work_tools import work_tools

CATALOG = Catalog([*BnTools(None, timeout=30).specs(), *work_tools(None)])
SPECS = list(CATALOG)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_every_tool_is_described_and_annotated(spec):
    entry = ExposedTool(spec.name, spec).entry()
    assert entry["title"]
    assert entry["description"].endswith(".")
    assert len(entry["description"]) < 300
    assert set(entry["annotations"]) >= {"readOnlyHint", "openWorldHint"}
    assert entry["inputSchema"]["type"] == "object"
    assert "properties" in entry["inputSchema"]
    assert "$ref" not in str(entry)


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_every_alias_has_a_schema_of_its_own(spec):
    for alias in spec.aliases:
        schema = input_schema(spec, alias)
        assert set(schema.get("required", ())) <= set(schema["properties"])


def test_an_alias_shows_its_own_words():
    found = CATALOG.find("task-add")
    item = input_schema(found.spec, found.alias)["properties"]["tasks"]["items"]
    assert "content" in item["properties"]
    assert item["required"] == ["content"]
    single = CATALOG.find("create_task")
    assert input_schema(single.spec, single.alias)["required"] == ["title"]


def test_names_are_things_and_what_is_done_to_them():
    for spec in SPECS:
        assert spec.name.replace("binnacle-", "").replace("_", "").isalpha()
        assert len(spec.name) <= 48
