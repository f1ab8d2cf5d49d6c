"""An MCP server that is careless about the protocol: `python careless.py FILE [WORD…]`. Needs nothing but Python.

FILE is JSON: `tools`, `prompts`, `resources` and `templates` are listed as they stand there; `answers` has, by the name
of a tool or prompt or the URI of a resource, the text that is written as the result, JSON or not.
Words: `ids=text` and `ids=float` (answers carry the id as "5" or 5.0), `closes` (the tool `close` closes standard
output and lives on). A tool without an answer says its name.
"""

import json
import os
import sys
import time

with open(sys.argv[1], encoding="utf-8") as file:
    SAYS = json.load(file)
WORDS = dict(word.partition("=")[::2] for word in sys.argv[2:])
LISTS = {
    "tools/list": ("tools", "tools"),
    "prompts/list": ("prompts", "prompts"),
    "resources/list": ("resources", "resources"),
    "resources/templates/list": ("templates", "resourceTemplates"),
}
CAPABILITIES = {"tools": {}, "prompts": {}, "resources": {}}


def spelled(request_id):
    return {"text": f'"{request_id}"', "float": f"{request_id}.0"}.get(WORDS.get("ids"), json.dumps(request_id))


def result_of(method, params):
    """The text of a result; None for an error."""
    if method == "initialize":
        hello = {"protocolVersion": "2025-06-18", "capabilities": CAPABILITIES, "serverInfo": {"name": "careless"}}
        return json.dumps(hello)
    if method == "ping":
        return "{}"
    if method in LISTS:
        kind, key = LISTS[method]
        return json.dumps({key: SAYS.get(kind, [])})
    name = params.get("name") or params.get("uri")
    if method in ("tools/call", "prompts/get", "resources/read"):
        text = [{"type": "text", "text": str(name)}]
        return SAYS.get("answers", {}).get(name) or json.dumps({"content": text})
    return None


def main():
    for line in sys.stdin:
        message = json.loads(line)
        if "method" not in message or "id" not in message:
            continue
        params = message.get("params") or {}
        if "closes" in WORDS and params.get("name") == "close":
            os.close(1)
            time.sleep(60)
        result = result_of(message["method"], params)
        told = f'"result":{result}' if result else '"error":{"code":-32601,"message":"unknown"}'
        sys.stdout.write(f'{{"jsonrpc":"2.0","id":{spelled(message["id"])},{told}}}\n')
        sys.stdout.flush()


if __name__ == "__main__":
    main()
