"""Who gets in: links that work once, cookies of one port, and nobody else."""

import httpx
import pytest

from binnacle.web.sign_in import COOKIE_SECONDS, LINK_SECONDS, MAX_COOKIES, SignIns
from web.served_gui import ServedGui, bn

NOW = 1_800_000_000.0


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
@pytest.mark.parametrize(
    "path", ["/", "/index.html", "/assets/main.js", "/api/projects", "/api/stream", "/api/shop/project", "/x/%2e%2e/y"]
)
def test_without_the_cookie_every_path_answers_401(served, method, path):
    with served.stranger() as stranger:
        answer = stranger.request(method, path)
        assert answer.status_code == 401
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "set-cookie" not in answer.headers


def test_a_person_without_the_cookie_reads_what_to_do(served):
    with served.stranger() as stranger:
        page = stranger.get("/shop/board", headers={"sec-fetch-dest": "document"})
        assert "bn gui --link" in page.text
        assert page.headers["content-type"].startswith("text/html")
        assert stranger.get("/api/projects").json()["code"] == "E_SIGN_IN"


def test_a_link_works_once(served):
    with served.stranger() as first, served.stranger() as second:
        answer = first.get(served.link)
        cookie = answer.headers["set-cookie"]
        assert answer.status_code == 200
        assert f"binnacle-{served.port}=" in cookie
        assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
        assert first.get("/api/projects").status_code == 200
        used = second.get(served.link)
        assert used.status_code == 401
        assert "expired" in used.text
        assert first.get(served.link).status_code == 200, "who is signed in already gets on with an old link"


def test_a_link_leads_to_the_address_that_it_names_and_to_no_other_host(served):
    key = served.link.partition("key=")[2]
    with served.stranger() as person:
        assert "url=/shop/board?tag=a'" in person.get(f"/shop/board?tag=a&key={key}").text
        for address in ("//evil.example/", "/\\evil.example", "/x';url=http://evil.example"):
            assert "evil" not in person.get(f"{served.base}{address}?key={key}").text


def test_looking_at_a_link_does_not_use_it(served):
    with served.stranger() as person:
        assert person.head(served.link).status_code == 401
        assert person.options(served.link).status_code == 401
        assert person.get(served.link).status_code == 200


def test_a_command_makes_another_link(served):
    with served.stranger() as person:
        assert person.get(served.make_link()).status_code == 200


def test_a_cookie_of_another_port_is_worth_nothing(served, repo):
    with ServedGui(repo) as other, served.browser() as person, other.stranger() as thief:
        (value,) = person.cookies.values()
        for name in (f"binnacle-{served.port}", f"binnacle-{other.port}"):
            thief.cookies.clear()
            thief.cookies.set(name, value)
            assert thief.get("/api/projects").status_code == 401


def test_after_a_restart_on_the_same_port_an_open_page_goes_on(repo):
    with ServedGui(repo) as served:
        person = served.browser()
        served.stop(9)
    with ServedGui(repo, port=served.port), person:
        assert person.get("/api/projects").status_code == 200


def test_there_is_no_link_to_a_page_whose_server_was_killed(served, repo):
    served.stop(9)
    with pytest.raises(AssertionError, match="no page is served"):
        served.make_link()


def test_with_several_pages_a_link_is_to_the_one_that_is_named(served, repo):
    with ServedGui(repo) as other:
        with pytest.raises(AssertionError, match=f"several pages are served, on the ports .*{other.port}"):
            bn(repo, "gui", "--link")
        assert bn(repo, "gui", "--link", "--port", str(other.port))["url"].startswith(other.base)


def test_the_file_has_no_secret_and_is_private(served, tmp_path):
    with served.browser() as person:
        (cookie,) = person.cookies.values()
    folder = tmp_path / "data" / ".page"
    assert folder.stat().st_mode & 0o077 == 0
    for file in folder.iterdir():
        assert file.stat().st_mode & 0o077 == 0
        assert cookie not in file.read_text()
        assert served.link.partition("key=")[2] not in file.read_text()


def test_links_and_cookies_end(repo):
    sign_ins = SignIns(7)
    assert sign_ins.exchange(sign_ins.make_link_key(now=NOW), now=NOW + LINK_SECONDS) is None
    cookie = sign_ins.exchange(sign_ins.make_link_key(now=NOW), now=NOW + LINK_SECONDS - 1)
    assert cookie is not None
    assert sign_ins.is_valid(cookie, now=NOW + COOKIE_SECONDS)
    assert not sign_ins.is_valid(cookie, now=NOW + LINK_SECONDS + COOKIE_SECONDS)
    assert not SignIns(8).is_valid(cookie, now=NOW)
    assert not sign_ins.is_valid("", now=NOW)


def test_only_so_many_browsers_are_signed_in(repo):
    sign_ins = SignIns(7)
    cookies = [sign_ins.exchange(sign_ins.make_link_key(now=NOW), now=NOW + i) for i in range(MAX_COOKIES + 5)]
    valid = [cookie for cookie in cookies if cookie and sign_ins.is_valid(cookie, now=NOW + 100)]
    assert valid == cookies[5:]


def test_a_disk_that_takes_no_cookie_is_named(served, tmp_path):
    folder = tmp_path / "data" / ".page"
    folder.rename(tmp_path / "gone")
    folder.symlink_to(tmp_path / "gone" / "nowhere")
    with served.stranger() as person:
        assert person.get(served.link).status_code == 401, "nothing is known of the link any more"
    folder.unlink()
    (tmp_path / "gone").rename(folder)
    with served.stranger() as person:
        assert person.get(served.link).status_code == 200


def test_a_broken_file_lets_nobody_in(repo, tmp_path):
    sign_ins = SignIns(7)
    cookie = sign_ins.exchange(sign_ins.make_link_key())
    assert sign_ins.is_valid(cookie)
    (tmp_path / "data" / ".page" / "7.json").write_text("[1]")
    assert not sign_ins.is_valid(cookie)
    assert sign_ins.exchange(sign_ins.make_link_key()) is not None


def test_a_cookie_that_another_port_has_set_shuts_nobody_out(served):
    with served.browser() as person:
        (name,), (value,) = person.cookies.keys(), person.cookies.values()
    with served.stranger() as person:
        for cookies, status in (("x; {0}={1}", 200), ("{0}=forged; {0}={1}", 200), ("{0}=forged; {0}=", 401)):
            header = {"cookie": cookies.format(name, value)}
            assert person.get("/api/projects", headers=header).status_code == status


def test_the_host_must_be_the_one_that_links_have(served):
    with served.browser() as person:
        for host in ("evil.example", f"evil.example:{served.port}", f"localhost:{served.port}", "127.0.0.1"):
            assert person.get("/api/projects", headers={"host": host}).status_code == 403
            assert person.get("/", headers={"host": host}).status_code == 403
        assert person.get("/api/projects").status_code == 200


def test_two_servers_do_not_share_a_port(served, repo):
    with pytest.raises(AssertionError, match="cannot listen"):
        ServedGui(repo, port=served.port)
    assert httpx.get(f"{served.base}/").status_code == 401
