"""An MCP server that misbehaves as it is told: `python rogue.py [WORD…]`. Needs nothing but Python.

At the start: `slow=SECONDS`, `silent` (never answers `initialize`), `crash` (ends with code 3), `junk` (writes what is
no message), `flood` (100 MB to standard error), `deaf` (reads nothing more once it is initialized), `deafened` (once it
was called), `stateless` (knows only the new era), `mute` (does not answer what it does not know),
`meet=DIRECTORY,NUMBER` (starts only once so many are there), `says=FILE` (describes `echo` by what is in it),
`more=NAME,…` (has these tools, too; `link` answers with a link to the resource that it is given).
Its tools do as they are called.
"""

import json
import os
import sys
import threading
import time

WORDS = dict(word.partition("=")[::2] for word in sys.argv[1:])
STATELESS = "2026-07-28"
DEAF_AFTER = "notifications/initialized" if "deaf" in WORDS else "tools/call" if "deafened" in WORDS else ""
TOOLS = ["echo"]
LOCK = threading.Lock()
CANCELLED = set()


def write(message):
    with LOCK:
        sys.stdout.buffer.write(json.dumps(message).encode() + b"\n")
        sys.stdout.buffer.flush()


def raw(data):
    with LOCK:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def text(said, **more):
    return {"content": [{"type": "text", "text": said}], **more}


def entry(name):
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    hints = {"readOnlyHint": name in ("echo", "die_once")}
    said = f"The tool {name}."
    if name == "echo" and "says" in WORDS:
        try:
            with open(WORDS["says"], encoding="utf-8") as file:
                said = file.read()
        except OSError:
            os._exit(4)
    return {"name": name, "description": said, "inputSchema": schema, "annotations": hints, "x-own": 1}


ALL = (
    "echo",
    "hang",
    "die",
    "die_once",
    "junk",
    "big",
    "twice",
    "late",
    "flood",
    "grow",
    "ask",
    "progress",
    "fail",
    "pid",
    "leak",
    "refuse",
)


def call(request_id, params):  # noqa: C901, PLR0911, PLR0912, PLR0915 - one misdeed after the other
    name, given = params["name"], params.get("arguments") or {}
    said = given.get("text", "")
    if name == "hang":
        if said:
            with open(f"{said}.began", "w"):
                pass
        for _ in range(3000):
            if request_id in CANCELLED:
                with open(said or os.devnull, "a") as file:
                    file.write("cancelled\n")
                return None
            time.sleep(0.01)
        return None
    if name == "die" or (name == "die_once" and not os.path.exists(said)):
        if name == "die_once":
            with open(said, "w"):
                pass
        print("these are my last words", file=sys.stderr, flush=True)
        os._exit(7)
    if name == "link":
        return {"content": [{"type": "text", "text": "x" * 5000}, {"type": "resource_link", "uri": said, "name": "it"}]}
    if name == "junk":
        raw(b'plain words\n\xff\xfe{}\n\x1b[31m{"half": \n[1, 2]\n\n')
    if name == "big":
        return text("x" * int(said))
    if name == "late" and os.path.isabs(said):
        while not os.path.exists(said):
            time.sleep(0.01)
    elif name == "late":
        time.sleep(float(said))
    if name == "flood":
        block = b"noise " * 10000 + b"\n"
        for _ in range(int(said)):
            sys.stderr.buffer.write(block)
        sys.stderr.buffer.flush()
    if name == "grow":
        TOOLS.append(said)
        write({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    if name == "progress":
        token = (params.get("_meta") or {}).get("progressToken")
        for step in range(int(said)):
            time.sleep(0.3)
            note = {"progressToken": token, "progress": step + 1, "total": int(said), "message": "at it"}
            write({"jsonrpc": "2.0", "method": "notifications/progress", "params": note})
    if name == "leak":
        print("my key is", os.environ.get("PLANTED"), file=sys.stderr, flush=True)
        if said == "die":
            os._exit(9)
    if name in ("leak", "refuse"):
        told = f"no, and my key is {os.environ.get('PLANTED')}"
        write({"jsonrpc": "2.0", "id": request_id, "error": {"code": -32000, "message": told}})
        return None
    if name == "ask":
        return ask(params)
    if name == "fail":
        return text("no", isError=True)
    if name == "pid":
        return text(str(os.getpid()))
    answer = text(said, structuredContent={"said": said}, _meta={"own": [1]}, unknown={"kept": True})
    if name == "twice":
        write({"jsonrpc": "2.0", "id": request_id, "result": answer})
    return answer


ANSWERS = {}
ARRIVED = threading.Condition()


def ask(params):
    """Asks the client, in the way of the era that it speaks: what it is told to, or a question for a person."""
    method = (params.get("arguments") or {}).get("text") or "elicitation/create"
    question = {"message": "which?", "requestedSchema": {"type": "object", "properties": {"which": {"type": "string"}}}}
    if "stateless" in WORDS:
        responses = params.get("inputResponses")
        if responses is None:
            return {
                "resultType": "input_required",
                "inputRequests": {"q": {"method": method, "params": question}},
                "requestState": "kept",
            }
        return text(json.dumps([responses["q"], params.get("requestState")]))
    write({"jsonrpc": "2.0", "id": "q1", "method": method, "params": question})
    with ARRIVED:
        ARRIVED.wait_for(lambda: "q1" in ANSWERS, timeout=20)
        return text(json.dumps(ANSWERS.pop("q1", None)))


def answer(message):  # noqa: C901, PLR0912
    method, params, request_id = message["method"], message.get("params") or {}, message["id"]
    is_new = STATELESS in json.dumps(params.get("_meta") or {})
    if method == "initialize" and "stateless" not in WORDS:
        if "silent" in WORDS:
            return
        capabilities = {"tools": {"listChanged": True}, "prompts": {}, "resources": {}}
        result = {"protocolVersion": "2025-06-18", "capabilities": capabilities, "serverInfo": {"name": "rogue"}}
    elif method == "server/discover" and "stateless" in WORDS:
        result = {"supportedVersions": [STATELESS], "capabilities": {"tools": {}}, "serverInfo": {"name": "rogue"}}
    elif method == "tools/list":
        TOOLS.extend(name for name in WORDS.get("more", "").split(",") if name and name not in TOOLS)
        listed = [*ALL, *(name for name in TOOLS if name not in ALL)]
        result = {"tools": [entry(name) for name in listed]}
    elif method == "prompts/list":
        result = {"prompts": [{"name": "greet", "description": "says hello"}]}
    elif method == "prompts/get":
        content = {"type": "text", "text": f"hello {params['name']}"}
        if linked := params.get("arguments", {}).get("uri"):
            content = {"type": "resource_link", "uri": linked, "name": "it"}
        result = {"messages": [{"role": "user", "content": content}]}
    elif method == "resources/list":
        result = {"resources": [{"uri": "rogue://one", "name": "one"}]}
    elif method == "resources/templates/list":
        result = {"resourceTemplates": []}
    elif method == "resources/read":
        result = {"contents": [{"uri": params["uri"], "text": "what is in it"}]}
    elif method == "ping":
        result = {}
    elif method == "tools/call":
        result = call(request_id, params)
        if result is None:
            return
    else:
        if "mute" not in WORDS:
            error = {"code": -32601, "message": f"unknown: {method}"}
            write({"jsonrpc": "2.0", "id": request_id, "error": error})
        return
    if is_new:
        result = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result}
    write({"jsonrpc": "2.0", "id": request_id, "result": result})


def meet(folder, number):
    """Comes to a meeting, and waits for the others."""
    with open(os.path.join(folder, str(os.getpid())), "w"):
        pass
    while len(os.listdir(folder)) < int(number):
        time.sleep(0.01)


def main():  # noqa: C901
    if "meet" in WORDS:
        meet(*WORDS["meet"].rsplit(",", 1))
    time.sleep(float(WORDS.get("slow", 0)))
    if "crash" in WORDS:
        print("cannot open the vault", file=sys.stderr, flush=True)
        sys.exit(3)
    if "junk" in WORDS:
        raw(b"welcome to the server!\n\xff\xff\n")
    if "flood" in WORDS:
        for _ in range(1700):
            sys.stderr.buffer.write(b"noise " * 10000)
        sys.stderr.buffer.flush()
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if message.get("method") == "notifications/cancelled":
            CANCELLED.add(message["params"]["requestId"])
        elif "method" in message and "id" in message:
            threading.Thread(target=answer, args=(message,), daemon=True).start()
        elif "id" in message:
            with ARRIVED:
                ANSWERS[message["id"]] = message.get("result", {"refused": message.get("error")})
                ARRIVED.notify_all()
        if message.get("method") == DEAF_AFTER:
            time.sleep(60)


if __name__ == "__main__":
    main()
