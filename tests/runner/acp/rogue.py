"""An agent that does what its prompt says, a line a step, for better or worse. Speaks ACP in words of its own.

Options change how it begins; `STEPS` are the words it knows in a prompt.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

Json = dict[str, Any]

WRITING = threading.Lock()
OPTIONS = [
    {"optionId": "a-always", "name": "Always", "kind": "allow_always"},
    {"optionId": "a-once", "name": "Yes", "kind": "allow_once"},
    {"optionId": "r-once", "name": "No", "kind": "reject_once"},
]
FOR_EVER = 1000


def write(message: Json) -> None:
    write_line(json.dumps({"jsonrpc": "2.0", **message}))


def write_line(line: str) -> None:
    with WRITING:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


class Stop(Exception):
    """The turn ends."""


class Refuse(Exception):
    """The answer is an error."""


class Session:
    """What is open, and what was asked in it."""

    def __init__(self, agent: "Rogue", session_id: str, servers: list[Json]) -> None:
        self.agent = agent
        self.id = session_id
        self.servers = servers
        self.model = "small"
        self.cancelled = threading.Event()
        self.usage: Json | None = None

    def update(self, kind: str, **fields: Any) -> None:
        update = {"sessionUpdate": kind, **fields}
        write({"method": "session/update", "params": {"sessionId": self.id, "update": update}})

    def say(self, text: str) -> None:
        self.update("agent_message_chunk", content={"type": "text", "text": text})

    def turn(self, request_id: Any, text: str) -> None:
        self.cancelled.clear()
        reason = "end_turn"
        try:
            for line in text.splitlines():
                word, _, rest = line.partition(" ")
                getattr(self, f"do_{word}")(rest)
        except Stop as stop:
            reason = str(stop)
        except Refuse as refuse:
            code, message, data = refuse.args
            write({"id": request_id, "error": {"code": code, "message": message, "data": data}})
            return
        write({"id": request_id, "result": {"stopReason": reason, "usage": self.usage}})

    do_say = say

    def do_think(self, text: str) -> None:
        self.update("agent_thought_chunk", content={"type": "text", "text": text})

    def do_update(self, text: str) -> None:
        fields = json.loads(text)
        self.update(fields.pop("kind"), **fields)

    def do_ask(self, text: str) -> None:
        call = json.loads(text)
        options = call.pop("options", OPTIONS)
        answer = self.agent.ask(
            "session/request_permission", {"sessionId": self.id, "toolCall": call, "options": options}
        )
        self.say(json.dumps(answer["result"]["outcome"]))
        if answer["result"]["outcome"]["outcome"] == "cancelled":
            raise Stop("cancelled")

    def do_request(self, method: str) -> None:
        self.say(str(self.agent.ask(method, {"sessionId": self.id})["error"]["code"]))

    def do_junk(self, text: str) -> None:
        write_line(text)

    def do_long(self, size: str) -> None:
        self.say("x" * int(size))

    def do_flood(self, number: str) -> None:
        for _ in range(int(number)):
            self.say("y" * 1000)

    def do_hang(self, _: str) -> None:
        self.say("hanging")
        self.cancelled.wait(FOR_EVER)
        raise Stop("cancelled")

    def do_deaf(self, _: str) -> None:
        """Neither a cancel, nor the end of its input, nor a polite signal ends it."""
        self.say("deaf")
        time.sleep(FOR_EVER)

    def do_upset(self, _: str) -> None:
        """Answers a cancelled turn with an error."""
        self.say("upset")
        self.cancelled.wait(FOR_EVER)
        raise Refuse(-32603, "Internal error", None)

    def do_fragile(self, _: str) -> None:
        """Does not outlive a cancelled turn."""
        self.say("fragile")
        self.cancelled.wait(FOR_EVER)
        os._exit(4)

    def do_pause(self, seconds: str) -> None:
        time.sleep(float(seconds))

    def do_exit(self, text: str) -> None:
        code, _, words = text.partition(" ")
        sys.stderr.write(words + "\n")
        sys.stderr.flush()
        os._exit(int(code))

    def do_close(self, descriptor: str) -> None:
        os.close(int(descriptor))

    def do_die_later(self, seconds: str) -> None:
        """Ends between two turns."""
        threading.Timer(float(seconds), os._exit, [5]).start()

    def do_error(self, text: str) -> None:
        code, message, data = json.loads(text)
        raise Refuse(code, message, data)

    def do_stop(self, reason: str) -> None:
        raise Stop(reason)

    def do_child(self, _: str) -> None:
        """Starts something that leaves its group and its parent."""
        child = subprocess.Popen(
            ["sleep", str(FOR_EVER)], start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        self.say(f"child {child.pid}")

    def do_env(self, name: str) -> None:
        self.say(os.environ.get(name, "nothing"))

    def do_stderr(self, size: str) -> None:
        for _ in range(int(size) >> 10):
            sys.stderr.write("z" * 1023 + "\n")
        sys.stderr.flush()

    def do_usage(self, text: str) -> None:
        self.usage = json.loads(text)

    def do_servers(self, _: str) -> None:
        self.say(json.dumps(self.servers))

    def do_model(self, _: str) -> None:
        self.say(self.model)


class Rogue:
    """The agent."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.sessions: dict[str, Session] = {}
        self.asked: dict[str, Any] = {}
        self.answers: dict[str, Json] = {}
        self.answered = threading.Condition()

    def ask(self, method: str, params: Json) -> Json:
        with self.answered:
            request_id = f"ask-{len(self.asked)}"
            self.asked[request_id] = method
            write({"id": request_id, "method": method, "params": params})
            assert self.answered.wait_for(lambda: request_id in self.answers, FOR_EVER)
            return self.answers[request_id]

    def run(self) -> None:
        for line in sys.stdin:
            message = json.loads(line)
            if "method" not in message:
                with self.answered:
                    self.answers[message["id"]] = message
                    self.answered.notify_all()
                continue
            name = "on_" + message["method"].replace("/", "_")
            try:
                result = getattr(self, name)(message, **message["params"])
            except Refuse as refuse:
                code, text, data = refuse.args
                write({"id": message["id"], "error": {"code": code, "message": text, "data": data}})
                continue
            if result is not None:
                write({"id": message["id"], "result": result})
        if self.options.stubborn:
            time.sleep(FOR_EVER)

    def on_initialize(self, _: Json, **params: Any) -> Json | None:
        if self.options.mute:
            return None
        capabilities = {"loadSession": self.options.load, "mcpCapabilities": {"http": not self.options.no_http}}
        return {
            "protocolVersion": self.options.version,
            "agentCapabilities": capabilities,
            "agentInfo": {"name": "rogue", "version": "1", "client": params["clientInfo"]["name"]},
            "authMethods": [{"id": "key", "name": "A key"}],
            "surprise": True,
        }

    def on_session_new(self, _: Json, **params: Any) -> Json:
        if self.options.locked:
            raise Refuse(-32000, "Authentication required", None)
        session = Session(self, f"s{len(self.sessions) + 1}", params["mcpServers"])
        self.sessions[session.id] = session
        return {"sessionId": session.id, **self._choices()}

    def on_session_load(self, _: Json, **params: Any) -> Json:
        if params["sessionId"] != "kept":
            raise Refuse(-32603, "No previous sessions", None)
        session = self.sessions["kept"] = Session(self, "kept", params["mcpServers"])
        session.say("replayed")
        return {}

    def _choices(self) -> Json:
        small = {"modelId": "small", "name": "S"}
        if self.options.models:
            return {
                "models": {"currentModelId": "small", "availableModels": [small, {"modelId": "large-1", "name": "L"}]}
            }
        if self.options.choices:
            groups = [{"group": "g", "name": "G", "options": [{"value": "a/small", "name": "S"}, {"value": "a/large"}]}]
            option = {"id": "m", "name": "Model", "type": "select", "category": "model", "currentValue": "a/small"}
            return {"configOptions": [{**option, "options": groups}]}
        return {}

    def on_session_set_model(self, _: Json, **params: Any) -> Json:
        if not self.options.models:
            raise Refuse(-32601, "Method not found", None)
        self.sessions[params["sessionId"]].model = params["modelId"]
        return {}

    def on_session_set_config_option(self, _: Json, **params: Any) -> Json:
        self.sessions[params["sessionId"]].model = params["configId"] + "=" + params["value"]
        return {}

    def on_session_prompt(self, message: Json, **params: Any) -> None:
        session = self.sessions[params["sessionId"]]
        text = params["prompt"][0]["text"]
        threading.Thread(target=session.turn, args=(message["id"], text), daemon=True).start()

    def on_session_cancel(self, _: Json, **params: Any) -> None:
        self.sessions[params["sessionId"]].cancelled.set()


def main() -> None:
    parser = argparse.ArgumentParser()
    for flag in ("mute", "no-http", "load", "locked", "models", "choices", "stubborn", "again", "dead"):
        parser.add_argument(f"--{flag}", action="store_true")
    parser.add_argument("--version", type=int, default=1)
    options = parser.parse_args()
    if options.dead:
        sys.exit("cannot find my feet")
    if options.again:
        sys.argv.remove("--again")
        sys.exit(subprocess.run([sys.executable, *sys.argv], start_new_session=True, check=False).returncode)
    if options.stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Rogue(options).run()


main()
