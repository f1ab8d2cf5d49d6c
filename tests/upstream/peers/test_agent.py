"""A real agent, goose, led by a scripted model: it reads a file and asks a database through us."""

import json
from pathlib import Path
from typing import Any

import pytest

from server.peers.model import Say, Use, playing
from server.peers.test_agent import goose
from upstream.peers.conftest import Fronts, connected, npm_server, run

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore::UserWarning")]


def test_it_takes_a_question_from_a_file_to_a_database(sdk: Any, front: Fronts, birds: str, tmp_path: Path):
    place = tmp_path / "files"
    place.mkdir()
    (place / "question.txt").write_text("how many birds are there?")
    files = npm_server("filesystem", str(place)) | {"tools": {"allow": ["read_text_file", "write_file"]}}
    # Goose asks for tools once. Those of a lazy server that was there before are listed from the beginning.
    target = front({"files": {**files, "lazy": True}, "db": {**npm_server("postgres", birds), "lazy": True}})

    async def work() -> None:
        async with connected(sdk, target, "legacy") as client:
            await client.offered("mcp_files_read_text_file", "mcp_db_query")

    run(work())
    script = (
        Use("mcp_files_read_text_file", {"path": str(place / "question.txt")}),
        Use("mcp_db_query", {"sql": "select count(*)::int as birds from birds"}),
        Use("mcp_files_write_file", {"path": str(place / "answer.txt"), "content": "as many as were counted"}),
        Say("the database said: {last}"),
    )
    with playing(*script) as model:
        said = goose(target, model, tmp_path)
    assert len(model.results) == 3, said
    question, rows, _ = model.results
    assert "how many birds are there?" in question
    assert json.loads(rows) == [{"birds": 2}]
    assert (place / "answer.txt").read_text() == "as many as were counted"
