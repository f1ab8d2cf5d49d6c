"""The server of the page as a browser meets it: who may call what, and what it answers to the rest."""

import socket
import subprocess
import sys

import msgspec
import pytest

from web.served_gui import ServedGui, add_task, bn

PLAN = {"content-type": "application/json", "x-binnacle-page": "1"}
ACTION = "test_upstream"


def raw(served: ServedGui, request: bytes) -> bytes:
    """What the server answers to bytes that no client library would send."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=30) as line:
        line.sendall(request)
        found = b""
        while chunk := line.recv(1 << 16):
            found += chunk
    return found


class TestCalls:
    def test_the_projects_say_who_acts_and_what_there_is(self, served, repo):
        add_task(repo, "Sell hats")
        with served.browser() as person:
            answer = person.get("/api/projects")
            assert answer.headers["cache-control"] == "no-store"
            (project,) = answer.json()["projects"]
            assert (project["key"], project["name"], project["person"]) == (served.project, "shop", "ann")
            assert project["overview"]["tasks"] == 1
            assert project["cursor"] == 1
            alone = person.get(f"/api/{served.project}/project").json()
            assert alone == project

    @pytest.mark.parametrize(
        ("address", "status", "code"),
        [
            ("/api/{key}/nonsense", 404, "E_NOT_FOUND"),
            ("/api/nonsense-0000/project", 404, "E_NOT_FOUND"),
            ("/api/{key}", 404, "E_NOT_FOUND"),
            ("/api/", 404, "E_NOT_FOUND"),
            ("/api/{key}/project?wrong=1", 400, "E_INVALID_PARAMS"),
            ("/api/{key}/search_tasks?text=a&limit=many", 400, "E_INVALID_PARAMS"),
            ("/api/{key}/search_tasks?text=a&text=b", 400, "E_INVALID_PARAMS"),
            ("/api/{key}/search_tasks?text=%ff", 400, "E_INVALID_PARAMS"),
            ("/api/{key}/search_tasks?text=a&limit=1" + "0" * 500, 400, "E_INVALID_PARAMS"),
            ("/api/{key}/search_tasks?" + "text=a&" * 600, 400, "E_INVALID_PARAMS"),
            ("/api/{key}/search_tasks?text=" + "a" * 20_000, 400, "E_INVALID_PARAMS"),
            ("/api/stream?watch={key}:nonsense:x", 400, "E_INVALID_PARAMS"),
        ],
    )
    def test_a_wrong_call_is_told_what_is_wrong(self, served, address, status, code):
        with served.browser(**{"sec-fetch-site": "same-origin"}) as person:
            answer = person.get(address.format(key=served.project))
            assert (answer.status_code, answer.json()["code"]) == (status, code)
            assert answer.json()["message"]

    def test_an_unknown_field_is_answered_with_the_known_ones(self, served):
        with served.browser() as person:
            answer = person.get(f"/api/{served.project}/search_tasks?text=a&limti=3").json()
            assert answer["message"] == "unknown field 'limti'"
            assert "limit" in answer["hint"]

    def test_reading_is_no_action_and_an_action_is_no_reading(self, served):
        with served.acting() as person:
            refused = person.post(f"/api/{served.project}/project", content="{}")
            assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD")
            refused = person.get(f"/api/{served.project}/{ACTION}")
            assert (refused.status_code, refused.headers["allow"]) == (405, "POST")

    @pytest.mark.parametrize("body", ["", "[]", "{", "null", '{"name": 5}', '{"name": "x", "more": 1}', "[" * 100_000])
    def test_a_body_that_is_not_what_the_action_takes_is_refused(self, served, body):
        with served.acting() as person:
            answer = person.post(f"/api/{served.project}/{ACTION}", content=body)
            assert (answer.status_code, answer.json()["code"]) == (400, "E_INVALID_PARAMS")

    def test_a_text_with_a_nul_is_a_text(self, served):
        with served.browser() as person:
            answer = person.get(f"/api/{served.project}/search_tasks?text=a%00b")
            assert (answer.status_code, answer.json()) == (200, {"tasks": []})

    def test_an_address_of_the_page_may_have_any_number_of_filters(self, served):
        with served.browser() as person:
            assert person.get("/shop/board?" + "tag=a&" * 2000).status_code == 200

    def test_a_body_that_is_too_long_is_refused_unread(self, served):
        with served.acting() as person:
            answer = person.post(f"/api/{served.project}/{ACTION}", content=b" " * (5 << 20))
            assert answer.status_code == 413


class TestOrigins:
    @pytest.mark.parametrize(
        "headers",
        [
            {},
            {"origin": "null"},
            {"origin": "http://evil.example"},
            {"origin": "http://127.0.0.1:1"},
            {"origin": "https://{host}"},
            {"origin": "http://{host}.evil.example"},
            {"origin": "http://{host}", "sec-fetch-site": "cross-site"},
            {"origin": "http://{host}", "sec-fetch-site": "same-site"},
            {"origin": "http://{host}", "x-binnacle-page": "0"},
            {"origin": "http://{host}", "x-binnacle-page": ""},
        ],
    )
    @pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
    def test_a_change_comes_from_our_own_page(self, served, headers, method):
        host = f"127.0.0.1:{served.port}"
        given = PLAN | {name: value.format(host=host) for name, value in headers.items()}
        with served.browser() as person:
            answer = person.request(method, f"/api/{served.project}/{ACTION}", headers=given, content="{}")
            assert answer.status_code == 403
            assert answer.json()["code"] == "E_REFUSED"

    @pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
    def test_a_form_cannot_change_anything(self, served, kind):
        with served.acting() as person:
            answer = person.post(f"/api/{served.project}/{ACTION}", content="{}", headers={"content-type": kind})
            assert answer.status_code == 415

    @pytest.mark.parametrize("path", ["/api/projects", "/api/stream", "/api/{key}/project"])
    @pytest.mark.parametrize(
        "headers",
        [{"origin": "http://evil.example"}, {"sec-fetch-site": "same-site"}, {"sec-fetch-site": "cross-site"}],
    )
    def test_a_page_of_another_port_reads_nothing(self, served, path, headers):
        with served.browser() as person:
            assert person.get(path.format(key=served.project), headers=headers).status_code == 403

    def test_the_stream_says_that_it_is_asked_by_our_page(self, served):
        with served.browser() as person:
            assert person.get("/api/stream").status_code == 403

    def test_no_answer_allows_another_origin_to_read_it(self, served):
        with served.browser() as person:
            for path in ("/", "/api/projects", "/assets/none.js"):
                answer = person.get(path)
                assert not [name for name in answer.headers if name.startswith("access-control")]
                assert answer.headers["cross-origin-resource-policy"] == "same-origin"
                assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
                assert answer.headers["x-content-type-options"] == "nosniff"


class TestFiles:
    def test_the_page_and_its_files_are_served_as_they_are_kept(self, served):
        with served.browser() as person:
            index = person.get("/")
            assert index.headers["cache-control"] == "no-cache"
            script = next(part for part in index.text.split('"') if part.startswith("/assets/") and ".js" in part)
            for encoding in ("gzip", "identity"):
                file = person.get(script, headers={"accept-encoding": encoding})
                assert file.headers.get("content-encoding", "identity") == encoding
                assert "immutable" in file.headers["cache-control"]
                assert file.headers["content-type"].startswith("text/javascript")
            assert person.get("/shop/board/anything?x=1").text == index.text

    @pytest.mark.parametrize(
        "path",
        [
            *("/assets/../page_server.py", "/assets/%2e%2e/page_server.py", "/assets/..%2fpage_server.py"),
            *("/assets//etc/passwd", "/assets/%00", "/assets/index.html.gz", "/assets/", "/assets/" + "a" * 20_000),
            "/assets/..\\page_server.py",
        ],
    )
    def test_no_other_file_is_reached(self, served, path):
        with served.browser() as person:
            (name,), (value,) = person.cookies.keys(), person.cookies.values()
        head = f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{served.port}\r\ncookie: {name}={value}\r\nconnection: close"
        assert raw(served, f"{head}\r\n\r\n".encode()).startswith(b"HTTP/1.1 404 ")

    def test_head_has_no_body_and_options_says_what_is_possible(self, served):
        with served.browser() as person:
            for path in ("/", "/api/projects", f"/api/{served.project}/project"):
                head = person.head(path)
                assert (head.status_code, head.content) == (200, b"")
                assert int(head.headers["content-length"]) > 0
            assert person.head("/api/stream", headers={"sec-fetch-site": "same-origin"}).status_code == 405
            options = person.options("/api/projects")
            assert (options.status_code, options.headers["allow"]) == (204, "GET, HEAD, POST, OPTIONS")
        with served.acting() as person:
            assert person.put("/", content="{}").status_code == 405

    @pytest.mark.parametrize(
        "request_line", ["FETCH / HTTP/1.1", "GET / HTTP/9", "GET http://evil.example/ HTTP/1.1", "GET /\x00 HTTP/1.1"]
    )
    def test_what_is_no_request_is_refused(self, served, request_line):
        answer = raw(served, f"{request_line}\r\nhost: 127.0.0.1:{served.port}\r\nconnection: close\r\n\r\n".encode())
        assert answer.split()[1] in (b"400", b"401")

    def test_two_cookie_headers_let_nobody_in(self, served):
        with served.browser() as person:
            (name,), (value,) = person.cookies.keys(), person.cookies.values()
        head = f"GET /api/projects HTTP/1.1\r\nhost: 127.0.0.1:{served.port}\r\nconnection: close\r\n"
        cookie = f"cookie: {name}={value}\r\n"
        assert raw(served, f"{head}{cookie}\r\n".encode()).startswith(b"HTTP/1.1 200 ")
        assert raw(served, f"{head}cookie: {name}=x\r\n{cookie}\r\n".encode()).startswith(b"HTTP/1.1 401 ")
        assert raw(served, f"{head}host: evil.example\r\n{cookie}\r\n".encode()).startswith(b"HTTP/1.1 400 ")


class TestWhoActs:
    def test_a_page_for_reading_refuses_every_action(self, repo):
        with ServedGui(repo, "--readonly") as served, served.acting() as person:
            assert person.get("/api/projects").json()["is_readonly"]
            answer = person.post(f"/api/{served.project}/{ACTION}", content="{}")
            assert (answer.status_code, answer.json()["message"]) == (403, "this page is only for reading")

    def test_an_agent_may_serve_only_a_page_for_reading(self, repo):
        agent = {"CLAUDECODE": "1"}
        with pytest.raises(AssertionError, match="E_PERSON_NEEDED"):
            ServedGui(repo, env=agent)
        with ServedGui(repo, "--readonly", env=agent) as served, served.stranger() as person:
            assert person.get(served.link).status_code == 200

    def test_an_agent_gets_no_link_to_a_page_that_is_served(self, served, repo):
        with pytest.raises(AssertionError, match="E_PERSON_NEEDED"):
            bn(repo, "gui", "--link", env={**served.env, "CLAUDECODE": "1"})

    @pytest.mark.parametrize("name", ["via", "forwarded", "x-forwarded-for", "x-real-ip"])
    def test_no_proxy_hides_who_asks(self, served, name):
        with served.acting() as person:
            assert person.get("/api/projects", headers={name: "x"}).status_code == 403
            assert person.get(served.link, headers={name: "x"}).status_code == 403

    def test_the_process_of_an_agent_neither_signs_in_nor_acts(self, served, tmp_path):
        with served.acting() as person:
            (name,), (value,) = person.cookies.keys(), person.cookies.values()
        cookie = {"cookie": f"{name}={value}", "origin": served.base, **PLAN}
        found = as_agent(
            served, tmp_path, [("GET", served.link, {}), ("POST", f"/api/{served.project}/{ACTION}", cookie)]
        )
        assert [status for status, _ in found] == [403, 403]
        assert all("CLAUDECODE is set" in body for _, body in found)
        with served.stranger() as person:
            assert person.get(served.link).status_code == 200, "the agent did not use up the link"

    @pytest.mark.linux_only("elsewhere a process has the name of its program")
    def test_no_name_makes_a_person_of_an_agent(self, served, tmp_path):
        with served.acting() as person:
            (name,), (value,) = person.cookies.keys(), person.cookies.values()
        call = ("POST", f"/api/{served.project}/{ACTION}", {"cookie": f"{name}={value}", "origin": served.base, **PLAN})
        for editor in ("tmux", "code", "sshd"):
            ((status, body),) = as_agent(served, tmp_path, [call], name=editor)
            assert (status, "CLAUDECODE is set" in body) == (403, True), editor

    @pytest.mark.linux_only("elsewhere nothing says that the other end of a connection is closed")
    def test_an_agent_that_does_not_wait_for_the_answer_does_not_act(self, served, repo, tmp_path):
        with served.acting() as person:
            (name,), (value,) = person.cookies.keys(), person.cookies.values()
            head = [
                f"POST /api/{served.project}/add_task HTTP/1.1",
                *(f"{key}: {said}" for key, said in PLAN.items()),
                *(f"host: 127.0.0.1:{served.port}", f"origin: {served.base}", f"cookie: {name}={value}"),
            ]
            for number in range(30):
                body = f'{{"title": "Take over {number}"}}'
                request = "\r\n".join([*head, f"content-length: {len(body)}", "", body])
                end_at_once(served, tmp_path, request)
            assert person.post(f"/api/{served.project}/add_task", content='{"title": "Sell hats"}').status_code == 200
        assert [task["title"] for task in bn(repo, "task", "list")["tasks"]] == ["Sell hats"]


ASKING = """
import http.client, json, sys
from binnacle.processes.linux import set_process_name
port, name, calls = json.loads(sys.argv[1])
if name:
    set_process_name(name)
found = []
for method, path, headers in calls:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    line.request(method, path, body="{}" if method == "POST" else None, headers=headers)
    answer = line.getresponse()
    found.append((answer.status, answer.read().decode()))
print(json.dumps(found))
"""


ENDING = """
import os, socket, sys
socket.create_connection(("127.0.0.1", int(sys.argv[1]))).sendall(sys.argv[2].encode())
os._exit(0)
"""


def end_at_once(served: ServedGui, folder, request: str) -> None:
    """Lets the process of an agent send a request, and end before it is answered."""
    command = [sys.executable, "-c", ENDING, str(served.port), request]
    subprocess.run(command, env={**served.env, "CLAUDECODE": "1"}, cwd=folder, timeout=60, check=True)


def as_agent(served: ServedGui, folder, calls: list, *, name: str = "") -> list:
    """What the process of an agent is answered, which gives itself a name if there is one."""
    paths = [(method, path.removeprefix(served.base), headers) for method, path, headers in calls]
    command = [sys.executable, "-c", ASKING, msgspec.json.encode([served.port, name, paths]).decode()]
    env = {**served.env, "CLAUDECODE": "1"}
    done = subprocess.run(command, env=env, cwd=folder, capture_output=True, timeout=60, check=True)
    return msgspec.json.decode(done.stdout)
