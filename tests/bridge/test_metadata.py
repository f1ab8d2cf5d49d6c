"""What is wrong in a file of metadata is said by file and line, with the nearest word."""

import pytest

from binnacle.bridge.metadata import load_metadata, tool_name
from binnacle.errors import ConfigError

GOOD = """\
alias: deploy.check
name: Check
category: deploy
description: Checks something.
params:
  path: {type: string, required: true, resolve: workspace-relative, aliases: [file]}
  line: {type: number, integer: true, min: 1, max: 10, default: 3}
  mode: {type: enum, values: [fast, slow], default: fast}
  tags: {type: array, items: {type: string, minLength: 1}}
response: query
errors: [E_NOT_FOUND]
mcp:
  timeout: 5000
  relationships: {requires: [debug.start]}
  error_contract:
    errors:
      - {code: E_NOT_FOUND, summary: not there, is_retryable: false, user_fix_hint: look again}
  safety: {idempotent: true}
  llm:
    when_to_use: Now and then.
    parameter_hints:
      path: {examples: [a.py], note: relative}
"""


def load(tmp_path, text):
    file = tmp_path / "check.meta.yaml"
    file.write_text(text)
    return load_metadata(str(file))


def test_every_field_is_read(tmp_path):
    found = load(tmp_path, GOOD)
    assert found.tool == "deploy_check"
    assert found.params["line"].default == 3
    assert found.mcp.relationships.requires == ("debug.start",)
    assert found.mcp.llm.parameter_hints["path"].examples == ("a.py",)
    assert (found.is_read_only, found.is_idempotent) == (True, True)


@pytest.mark.parametrize(
    ("old", "new", "line", "said", "hint"),
    [
        ("alias: deploy.check", "alias: Deploy Check", 1, "'Deploy Check' is no alias", "joined by"),
        ("category: deploy", "catgory: deploy", 3, "unknown key 'catgory'", "'category'"),
        ("description: Checks something.", "description: ''", 4, "description is empty", ""),
        ("type: number,", "type: nummer,", 7, "nummer", "'number'"),
        ("default: 3", "default: 30", 7, "does not fit", ""),
        ("default: 3", "default: three", 7, "does not fit", ""),
        ("min: 1, max: 10", "min: 11, max: 10", 7, "min is larger than max", ""),
        ("default: fast", "default: medium", 8, "does not fit", ""),
        ("values: [fast, slow], ", "", 8, "an enum has values", ""),
        ("required: true,", "required: true, default: x,", 6, "is required, so it has no default", ""),
        ("resolve: workspace-relative", "resolve: relative", 6, "relative", "'cwd-relative'"),
        ("aliases: [file]", "aliases: [line]", 6, "stands for two parameters", ""),
        ("  mode: {type: enum", "  mo-de: {type: enum", 8, "is no name of a parameter", ""),
        ("minLength: 1", "min: 1", 9, "min is for number", ""),
        ("errors: [E_NOT_FOUND]", "errors: [NOT_FOUND]", 11, "is no error code", ""),
        ("timeout: 5000", "timeout: 0", 13, "timeout", ""),
        ("      path: {examples", "      paht: {examples", 22, "no parameter 'paht'", "'path'"),
        ("safety:", "safty:", 18, "unknown key 'safty'", "'safety'"),
        ("response: query", "response: querry", 10, "querry", "'query'"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path, old, new, line, said, hint):
    assert old in GOOD
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, GOOD.replace(old, new))
    assert f"check.meta.yaml:{line}: " in caught.value.message
    assert said in caught.value.message
    assert hint in caught.value.hint


def test_a_pattern_must_be_one(tmp_path):
    with pytest.raises(ConfigError, match=":6: path: no pattern"):
        load(tmp_path, GOOD.replace("resolve: workspace-relative", "pattern: '['"))


def test_names_of_tools_come_from_aliases():
    assert tool_name("debug.step-over") == "debug_step_over"
    assert tool_name("breakpoint.clear.file") == "breakpoint_clear_file"
