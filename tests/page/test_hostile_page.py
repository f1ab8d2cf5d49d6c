"""Hostile text in the page: whatever agents, servers and repositories write stays text, and holds up no tab."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from page.test_every_view import VIEWS
from web.served_gui import add_task, bn

SIZE = 49_000

SLOW_TEXTS = {
    "a heading that seems to end": "# a" + " " * SIZE + "b",
    "a table that seems to begin": "a|b\n-" + " " * SIZE + "x",
    "a line that seems to break": "a\n  " * 100 + "a" + " " * SIZE + "b",
    "brackets behind much code": "`a` " * (SIZE // 8) + "[" * (SIZE // 2),
    "backticks that nothing closes": "".join("`" * length + "a" for length in range(1, 300)),
    "many emphasised words": "*a* **b** __c__ ~~d~~ " * (SIZE // 22),
    "one row with many cells": "a|b\n-|-\n" + "|" * SIZE,
    "many full rows": "a|b\n-|-\n" + ("|" * 31 + "\n") * (SIZE // 32),
    "many items": "- a\n" * (SIZE // 4),
    "deep quotes": "> " * (SIZE // 2) + "a",
    "deep lists": "\n".join("  " * depth + "- a" for depth in range(200)),
}
"""Texts whose patterns could be tried again and again."""


@pytest.mark.parametrize("text", SLOW_TEXTS.values(), ids=SLOW_TEXTS)
def test_no_text_holds_up_the_page(gui, repo, visit, text):
    task = bn(repo, "task", "add", "Sell hats", "--description", text)["tasks"][0]["id"]
    page = visit(gui).open(f"task/{task}")
    page.get_by_role("heading", name="Sell hats").wait_for()
    page.locator("#content .markdown").first.wait_for()
    assert page.evaluate("1 + 1") == 2


TITLES = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    "[here](javascript:alert(1))",
    "'\"><svg onload=alert(1)>",
    "\u202egpj.exe",
    "__proto__",
    "W" * 300,
)
DESCRIPTION = """\
[here](javascript:alert(1)) ![there](http://evil.example/x.png) <img src=http://evil.example/y.png>

<iframe src=http://evil.example></iframe> ![x](data:image/svg+xml,<svg/onload=alert(1)>)

[https://good.example](https://evil.example/)
"""


def test_hostile_text_stays_text_in_every_view(gui, repo, visit):
    tasks = [bn(repo, "task", "add", title, "--description", DESCRIPTION)["tasks"][0]["id"] for title in TITLES]
    person = visit(gui)
    page = person.open("board")
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    for view in (*VIEWS, f"task/{tasks[0]}", "board?text=<img src=x onerror=alert(1)>"):
        person.show(page, view)
        page.locator("#content h1").first.wait_for()
        assert page.evaluate("document.images.length + document.querySelectorAll('iframe, object, embed').length") == 0
        targets = page.evaluate("[...document.querySelectorAll('a')].map((link) => link.protocol)")
        assert set(targets) <= {"http:", "https:"}
    person.show(page, f"task/{tasks[0]}")
    assert page.get_by_role("link", name="https://good.example").get_attribute("title") == "https://evil.example/"
    assert dialogs == []


TRIES = """
async ({base, project}) => {
  const add = `${base}/api/${project}/add_task`;
  const body = JSON.stringify({title: "Taken over"});
  const ways = [
    () => fetch(`${base}/api/projects`, {credentials: "include"}),
    () => fetch(add, {method: "POST", credentials: "include", body,
                      headers: {"content-type": "application/json", "x-binnacle-page": "1"}}),
    () => fetch(add, {method: "POST", credentials: "include", mode: "no-cors", body}),
    () => new Promise((done, fail) => {
      const source = new EventSource(`${base}/api/stream`, {withCredentials: true});
      source.onopen = done;
      source.onerror = fail;
    }),
    () => new Promise((done, fail) => {
      const script = document.createElement("script");
      [script.src, script.onload, script.onerror] = [`${base}/api/projects`, done, fail];
      document.head.append(script);
    }),
  ];
  const found = [];
  for (const way of ways) found.push(await way().then(() => "reached", () => "refused"));
  navigator.sendBeacon(add, body);
  document.cookie = `binnacle-${new URL(base).port}=forged;path=/`;
  return found;
}
"""


class OtherPage(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def other_port() -> Iterator[str]:
    """A server of somebody else on this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), OtherPage) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_a_page_on_another_port_reads_and_changes_nothing(gui, repo, visit, other_port):
    add_task(repo, "Sell hats")
    person = visit(gui)
    person.expected_faults = [other_port.rstrip("/"), "Failed to load resource", "EventSource"]
    page = person.open("board")
    other = person.context.new_page()
    other.goto(other_port)
    found = other.evaluate(TRIES, {"base": gui.base, "project": gui.project})
    assert found == ["refused"] * len(found), json.dumps(found)
    page.reload()
    page.get_by_text("Sell hats").wait_for()
    assert page.get_by_text("Taken over").count() == 0
