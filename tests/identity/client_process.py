"""An agent client in a process of its own: `client_process.py`.

It is told what to do by lines of JSON on standard input, and answers each with one on standard output. It opens MCP
connections, on stdio and on HTTP and of either era, calls tools, and runs `bn` in a shell, as an agent client does. So
whoever it is taken for, it is for its process, and killing it is killing a client.
"""

import http.client
import json
import os
import subprocess
import sys
import urllib.parse
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))

import forked_bn
from forked_bn import BN

OLD, NEW = "2025-11-25", "2026-07-28"
META = "io.modelcontextprotocol/"
HELLO = {"protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "stub", "version": "1"}}
TIMEOUT = 60.0


class Pipe:
    """A server that this client started."""

    def __init__(self, era: str, cwd: str, env: dict, options: list) -> None:
        self.era = era
        command = [BN, "mcp", "serve", *options]
        self.server = forked_bn.start(
            command, cwd=cwd, env=os.environ | env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.heard: list = []
        self.hello = self.ask("initialize", HELLO) if era == "old" else {}

    def ask(self, method: str, params: dict) -> dict:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": of_era(self.era, method, params)}
        self.server.stdin.write(json.dumps(message).encode() + b"\n")
        self.server.stdin.flush()
        while True:
            line = self.server.stdout.readline()
            if not line:
                return {"error": {"message": "the server is gone"}}
            answer = json.loads(line)
            if "id" in answer:
                return answer
            self.heard.append(answer["method"])

    def close(self) -> int:
        self.server.stdin.close()
        return self.server.wait(timeout=TIMEOUT)

    def kill(self) -> int:
        self.server.kill()
        return self.server.wait(timeout=TIMEOUT)


class Web:
    """A server that somebody else started."""

    def __init__(self, era: str, url: str, token: str) -> None:
        self.era = era
        self.url = urllib.parse.urlsplit(url)
        self.heard: list = []
        self.headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        self.headers |= {"authorization": f"Bearer {token}"} if token else {}
        self.connection = http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=TIMEOUT)
        self.hello = self.ask("initialize", HELLO) if era == "old" else {}

    def ask(self, method: str, params: dict) -> dict:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": of_era(self.era, method, params)}
        headers = dict(self.headers)
        if self.era == "new":
            headers |= {"mcp-protocol-version": NEW, "mcp-method": method}
            named = params.get("name") or params.get("uri")
            headers |= {"mcp-name": named} if named else {}
        self.connection.request("POST", self.url.path, json.dumps(body), headers)
        answer = self.connection.getresponse()
        if session := answer.headers.get("mcp-session-id"):
            self.headers["mcp-session-id"] = session
        text = answer.read().decode()
        if answer.status >= 400:
            return {"error": {"status": answer.status, "message": text}}
        if "text/event-stream" in answer.headers.get("content-type", ""):
            events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
            return next(event for event in events if "id" in event)
        return json.loads(text)

    def close(self) -> int:
        if "mcp-session-id" in self.headers:
            self.connection.request("DELETE", self.url.path, headers=self.headers)
            self.connection.getresponse().read()
        self.connection.close()
        return 0


def of_era(era: str, method: str, params: dict) -> dict:
    if era == "old":
        return params
    meta = {f"{META}protocolVersion": NEW, f"{META}clientCapabilities": {}}
    meta[f"{META}clientInfo"] = {"name": "stub", "version": "1"}
    return {**params, "_meta": meta}


def shell(words: list, cwd: str, env: dict, through: str) -> dict:
    """Runs `bn` as an agent does: through a shell, or by itself."""
    command = [BN, *words]
    if through == "shell":
        command = ["bash", "-c", 'out=$("$@"); code=$?; printf %s "$out"; exit $code', "bash", *command]
    done = forked_bn.run(command, cwd=cwd, env=os.environ | env, timeout=TIMEOUT)
    return {"code": done.returncode, "out": done.stdout.decode(), "err": done.stderr.decode()}


connections: dict = {}


def open_pipe(name: str, era: str, cwd: str, env: dict, options: list) -> dict:
    connections[name] = Pipe(era, cwd, env, options)
    return connections[name].hello


def open_web(name: str, era: str, url: str, token: str) -> dict:
    connections[name] = Web(era, url, token)
    return connections[name].hello


ORDERS = {
    "pipe": open_pipe,
    "web": open_web,
    "ask": lambda on, method, params: connections[on].ask(method, params),
    "header": lambda on, name, value: connections[on].headers.update({name: value}),
    "heard": lambda on: connections[on].heard,
    "close": lambda on: connections.pop(on).close(),
    "kill server": lambda on: connections.pop(on).kill(),
    "shell": shell,
}


def answer(asked: dict) -> object:
    return ORDERS[asked.pop("do")](**asked)


def main() -> None:
    for line in sys.stdin:
        try:
            said = {"answer": answer(json.loads(line))}
        except Exception as error:  # the test is told, and decides
            said = {"failed": f"{type(error).__name__}: {error}"}
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
