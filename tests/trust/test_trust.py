"""`bn trust`: what came with a project has no effect until a person has looked at exactly it."""

import json
import stat
import subprocess
from pathlib import Path

from cli.conftest import BN, Bn
from cli.test_mcp import Client
from cli.test_upstream import on_a_terminal


def write(bn: Bn, name: str, text: str) -> Path:
    path = bn.repo / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def fill(bn: Bn) -> None:
    """Puts one of everything that needs trust into the project."""
    write(bn, ".binnacle/config.toml", '[run]\nagent = "sh -c evil"\n[project]\ntitle = "Shop"\n')
    write(bn, ".binnacle/mcp.json", json.dumps({"servers": {"db": {"command": "db-server"}}}))
    write(bn, ".binnacle/hooks.yaml", "session_end: make notify\n")
    write(bn, ".binnacle/checks.yaml", "checks:\n  - name: tests\n    command: make test\n")
    write(bn, ".binnacle/prompts/run.md", "Obey. {{spec}}\n")
    write(
        bn,
        ".binnacle/scripts/say.hello.meta.yaml",
        "alias: say.hello\nname: Hello\ncategory: say\ndescription: Says.\n",
    )
    write(bn, ".binnacle/scripts/say.hello.sh", "#!/bin/sh\necho '{}'\n").chmod(0o755)


ALL = ["setting:run.agent", "server:db", "hook:session_end.1", "check:tests", "script:say.hello", "template:run"]


def states(bn: Bn) -> dict[str, str]:
    return {one["key"]: one["state"] for one in bn("trust", "show")["items"]}


def test_everything_that_has_an_effect_is_named_with_what_it_would_do(bn):
    assert bn("trust", "show") == {"items": [], "problems": []}
    fill(bn)
    assert states(bn) == dict.fromkeys(ALL, "new")
    shown = bn.human("trust", "show")
    for told in (
        "start db-server",
        "run make notify in every run",
        "run make test without asking",
        "run this command as the agent",
        "bn trust",
    ):
        assert told in shown
    assert "project.title" not in shown, "what is only words needs no trust"


def test_a_person_is_asked_once_about_all_of_it_and_again_about_what_changes(bn):
    fill(bn)
    _, seen = on_a_terminal(bn, "trust", "-H", answers="y\n")
    for told in ("run.agent = sh -c evil", '"command": "db-server"', "make notify", "echo '{}'", "description: Says."):
        assert told in seen
    assert states(bn) == dict.fromkeys(ALL, "trusted")
    write(bn, ".binnacle/hooks.yaml", "session_end: make havoc\n")
    assert states(bn) == dict.fromkeys(ALL, "trusted") | {"hook:session_end.1": "changed"}
    _, seen = on_a_terminal(bn, "trust", "-H", answers="n\n")
    assert "-make notify" in seen
    assert "+make havoc" in seen
    assert "db-server" not in seen, "only what changed is asked about"
    assert states(bn)["hook:session_end.1"] == "changed"


def test_no_is_the_answer_to_anything_else_than_yes(bn):
    fill(bn)
    for answer in ("\n", "n\n", "sure\n", ""):
        on_a_terminal(bn, "trust", "-H", answers=answer or "\x04")
        assert states(bn) == dict.fromkeys(ALL, "new")


def test_one_by_one(bn):
    fill(bn)
    on_a_terminal(bn, "trust", "-H", answers="o\nn\ny\nn\nn\nn\nn\n")
    assert [key for key, state in states(bn).items() if state == "trusted"] == ["server:db"]


def test_trust_is_taken_back_for_all_or_for_some(bn):
    fill(bn)
    bn("trust", "--yes")
    assert bn("trust", "revoke", "server:db")["revoked"] == ["server:db"]
    assert states(bn) == dict.fromkeys(ALL, "trusted") | {"server:db": "new"}
    assert len(bn("trust", "revoke")["revoked"]) == 5
    assert states(bn) == dict.fromkeys(ALL, "new")
    assert bn("trust", "revoke")["revoked"] == []


def test_the_log_says_who_trusted_what_and_how(bn):
    fill(bn)
    on_a_terminal(bn, "trust", "server:db", "-H", answers="y\n")
    bn("trust", "hook", "--yes")
    bn("trust", "revoke", "hook")
    events = bn("log")["events"]
    found = [(one["actor"], one["entity_id"], one["action"], one.get("changes", {}).get("how")) for one in events]
    assert found == [
        ("ann", "server:db", "granted", "asked on a terminal"),
        ("ann", "hook:session_end.1", "granted", "--yes, without a question"),
        ("ann", "hook:session_end.1", "revoked", None),
    ]


def test_another_copy_of_the_project_is_not_trusted_with_it(bn, tmp_path):
    fill(bn)
    bn("trust", "--yes")
    subprocess.run(["cp", "-r", str(bn.repo), str(tmp_path / "copy")], check=True, timeout=60)
    rows = json.loads(
        subprocess.run(
            [BN, "trust", "show"], cwd=tmp_path / "copy", env=bn.env, capture_output=True, check=True, timeout=60
        ).stdout
    )["items"]
    assert {one["state"] for one in rows} == {"new"}


def test_what_was_trusted_is_kept_for_the_person_alone(bn, tmp_path):
    fill(bn)
    command = ["sh", "-c", 'umask 0; exec "$0" trust --yes', BN]
    subprocess.run(command, cwd=bn.repo, env=bn.env, capture_output=True, timeout=60, check=True)
    mode = (tmp_path / "config" / "binnacle" / "trust.json").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600


def test_a_broken_file_is_said_and_the_rest_can_be_trusted(bn):
    fill(bn)
    write(bn, ".binnacle/hooks.yaml", "session_end: [\n")
    said = bn("trust", "--yes")
    assert "hooks.yaml" in said["problems"][0]["message"]
    assert "server:db" in said["trusted"]


def test_what_cannot_be_seen_is_written_out(bn):
    write(bn, ".binnacle/prompts/run.md", "safe \u202eevil\x1b[8mhidden\u200b {{spec}}\n")
    _, seen = on_a_terminal(bn, "trust", "-H", answers="n\n")
    assert "safe \\u202eevil\\x1b[8mhidden\\u200b" in seen


def test_what_is_printable_and_shows_nothing_is_written_out(bn):
    hidden = "".join(chr(0xE0100 + ord(one) - 16) for one in "obey") + "\ufe0f\u3164\u2800\u034f"
    write(bn, ".binnacle/prompts/run.md", f"safe{hidden} é 漢字 {{{{spec}}}}\n")
    _, seen = on_a_terminal(bn, "trust", "-H", answers="n\n")
    assert hidden not in seen
    assert f"safe{hidden.encode('unicode_escape').decode()} é 漢字" in seen


def test_only_a_line_feed_ends_a_line_that_is_shown(bn):
    fill(bn)
    program = ".binnacle/scripts/say.hello.sh"
    write(bn, program, "#!/bin/sh\n# a word\u2028touch evil\n# another\rtouch evil\n")
    _, seen = on_a_terminal(bn, "trust", "-H", answers="y\n")
    assert "# a word\\u2028touch evil" in seen
    assert "# another\\rtouch evil" in seen
    write(bn, program, "#!/bin/sh\n# a word\ntouch evil\n# another\ntouch evil\n")
    _, seen = on_a_terminal(bn, "trust", "-H", answers="n\n")
    assert seen.count("+touch evil") == 2, "the difference says what begins to run"


def test_people_and_agents_are_told_that_something_waits(bn):
    assert bn("status")["not_trusted"] == []
    fill(bn)
    assert bn("status")["not_trusted"] == ALL
    assert "6 things of this project have no effect until you trust them: bn trust" in bn.human("status")
    client = Client(bn)
    try:
        client.notify("notifications/initialized")
        text = client.ask("resources/read", uri="binnacle://status")["contents"][0]["text"]
    finally:
        client.end()
    assert json.loads(text)["not_trusted"] == ALL


def test_files_that_look_like_a_repository_are_files_of_the_one_around_them(bn):
    """Else a clone could bring a repository within itself, with an id of its choice."""
    inner = bn.repo / "docs"
    (inner / "objects").mkdir(parents=True)
    (inner / "info").mkdir()
    (inner / "HEAD").write_text("ref: refs/heads/main\n")
    (inner / "info" / "binnacle").write_text("stolen\n")
    assert bn("status", cwd=inner)["repo"] == str(bn.repo)
