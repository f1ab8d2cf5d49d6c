"""What the official conformance suite calls by name: its tools, resources and prompts.

The names and the texts are the suite's; it looks for them in the answers.
"""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from catalog import Arguments, Result, Tools, content, embedded, image, said, text

from binnacle.server.request import McpRequest
from binnacle.wire.jsonrpc import INTERNAL_ERROR, RpcError
from binnacle.wire.mcp import MISSING_CAPABILITY
from binnacle.wire.mcp_tasks import missing_extension

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SILENCE = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="

TOOLS = Tools()


@TOOLS.tool()
async def test_simple_text(call: McpRequest, arguments: Arguments) -> Result:
    return said("This is a simple text response for testing.")


@TOOLS.tool()
async def test_image_content(call: McpRequest, arguments: Arguments) -> Result:
    return content(image(PIXEL))


@TOOLS.tool()
async def test_audio_content(call: McpRequest, arguments: Arguments) -> Result:
    return content({"type": "audio", "data": SILENCE, "mimeType": "audio/wav"})


@TOOLS.tool()
async def test_embedded_resource(call: McpRequest, arguments: Arguments) -> Result:
    return content(embedded("test://embedded-resource", "This is an embedded resource content."))


@TOOLS.tool()
async def test_multiple_content_types(call: McpRequest, arguments: Arguments) -> Result:
    data = embedded("test://mixed-content-resource", '{"test": "data", "value": 123}', "application/json")
    return content(text("Multiple content types test:"), image(PIXEL), data)


@TOOLS.tool()
async def test_error_handling(call: McpRequest, arguments: Arguments) -> Result:
    return {"content": [text("This tool intentionally returns an error for testing")], "isError": True}


@TOOLS.tool()
async def test_tool_with_logging(call: McpRequest, arguments: Arguments) -> Result:
    for message in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        call.log("info", message, logger="fixture")
        await asyncio.sleep(0)
    return said("logged")


@TOOLS.tool()
async def test_tool_with_progress(call: McpRequest, arguments: Arguments) -> Result:
    for done in (0, 50, 100):
        call.progress(done, 100, f"Completed step {done} of 100")
        await asyncio.sleep(0)
    return said(str(call.progress_token))


@TOOLS.tool("prompt")
async def test_sampling(call: McpRequest, arguments: Arguments) -> Result:
    answer = await call.ask("sampling/createMessage", sampling(arguments["prompt"])["params"])
    return said(f"LLM response: {answer['content']['text']}")


@TOOLS.tool("message")
async def test_elicitation(call: McpRequest, arguments: Arguments) -> Result:
    return await elicited(call, arguments["message"], {"response": {"type": "string"}})


@TOOLS.tool()
async def test_elicitation_sep1034_defaults(call: McpRequest, arguments: Arguments) -> Result:
    properties = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return await elicited(call, "defaults", properties)


@TOOLS.tool()
async def test_elicitation_sep1330_enums(call: McpRequest, arguments: Arguments) -> Result:
    titled = [{"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"}]
    plain = ["option1", "option2", "option3"]
    properties = {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    return await elicited(call, "enums", properties)


@TOOLS.tool()
async def test_missing_capability(call: McpRequest, arguments: Arguments) -> Result:
    if "sampling" not in call.capabilities:
        data = {"requiredCapabilities": {"sampling": {}}}
        raise RpcError(MISSING_CAPABILITY, "the client cannot be asked for sampling", data)
    return said("the client has sampling")


LONG_TOOLS = frozenset(
    {"slow_compute", "failing_job", "protocol_error_job", "test_tool_with_task", "hold_long", "confirm_delete"}
)
"""Tools whose calls become tasks of the protocol."""


@TOOLS.tool("name")
async def greet(call: McpRequest, arguments: Arguments) -> Result:
    return said(f"Hello, {arguments['name']}!")


@TOOLS.tool("label", seconds=1)
async def slow_compute(call: McpRequest, arguments: Arguments) -> Result:
    call.continue_as_task()
    await asyncio.sleep(arguments.get("seconds", 1))
    return said(f"{arguments['label']} is computed")


@TOOLS.tool()
async def failing_job(call: McpRequest, arguments: Arguments) -> Result:
    if not call.continue_as_task():
        raise missing_extension()
    return {"content": [text("the job has failed")], "isError": True}


@TOOLS.tool("filename")
async def confirm_delete(call: McpRequest, arguments: Arguments) -> Result:
    """Asks nobody: tasks of ours never do."""
    call.continue_as_task()
    return said(f"{arguments['filename']} is deleted")


@TOOLS.tool()
async def protocol_error_job(call: McpRequest, arguments: Arguments) -> Result:
    call.continue_as_task()
    raise RpcError(INTERNAL_ERROR, "the job has failed", {"why": "it is a test"})


@TOOLS.tool()
async def test_tool_with_task(call: McpRequest, arguments: Arguments) -> Result:
    if not call.input_responses:
        return asking(user_name=question("What is your name?", "name"))
    call.continue_as_task()
    await asyncio.sleep(0)
    return said(f"Hello, {answer_of(call, 'user_name')}!")


@TOOLS.tool()
async def test_logging_tool(call: McpRequest, arguments: Arguments) -> Result:
    call.log("info", "logged")
    return said("logged")


@TOOLS.tool()
async def test_streaming_elicitation(call: McpRequest, arguments: Arguments) -> Result:
    return said("done") if answer_of(call, "name") else asking(name=question("What is your name?", "name"))


@TOOLS.tool()
async def test_input_required_result_elicitation(call: McpRequest, arguments: Arguments) -> Result:
    if answer := answer_of(call, "user_name"):
        return said(f"Hello, {answer['content']['name']}!")
    return asking(user_name=question("What is your name?", "name"))


@TOOLS.tool()
async def test_input_required_result_sampling(call: McpRequest, arguments: Arguments) -> Result:
    if answer := answer_of(call, "capital_question"):
        return said(f"The model said: {answer['content']['text']}")
    return asking(capital_question=sampling("What is the capital of France?"))


@TOOLS.tool()
async def test_input_required_result_list_roots(call: McpRequest, arguments: Arguments) -> Result:
    if answer := answer_of(call, "client_roots"):
        return said(f"The client has {len(answer['roots'])} roots.")
    return asking(client_roots={"method": "roots/list"})


@TOOLS.tool()
async def test_input_required_result_request_state(call: McpRequest, arguments: Arguments) -> Result:
    if answer_of(call, "confirm") and call.params.request_state == "asked":
        return said("state-ok: confirmed")
    return asking("asked", confirm=question("Please confirm", "ok", "boolean"))


@TOOLS.tool()
async def test_input_required_result_multiple_inputs(call: McpRequest, arguments: Arguments) -> Result:
    wanted = {
        "user_name": question("What is your name?", "name"),
        "greeting": sampling("Generate a greeting"),
        "client_roots": {"method": "roots/list"},
    }
    if all(answer_of(call, key) for key in wanted):
        return said("All inputs received.")
    return asking("asked", **wanted)


@TOOLS.tool()
async def test_input_required_result_multi_round(call: McpRequest, arguments: Arguments) -> Result:
    said_before = call.params.request_state if isinstance(call.params.request_state, str) else ""
    if said_before == "name" and (answer := answer_of(call, "step1")):
        return asking(f"colour {answer['content']['name']}", step2=question("Which colour?", "color"))
    if said_before.startswith("colour ") and (answer := answer_of(call, "step2")):
        return said(f"{said_before.removeprefix('colour ')} likes {answer['content']['color']}.")
    return asking("name", step1=question("What is your name?", "name"))


@TOOLS.tool()
async def test_input_required_result_tampered_state(call: McpRequest, arguments: Arguments) -> Result:
    if isinstance(call.params.request_state, str):
        return said(f"state-ok: {call.params.request_state}")
    return asking("round-1", confirm=question("Please confirm", "ok", "boolean"))


@TOOLS.tool()
async def test_input_required_result_capabilities(call: McpRequest, arguments: Arguments) -> Result:
    possible = {"sampling": {"sample": sampling("hello")}, "elicitation": {"ask": question("Name?", "name")}}
    wanted: dict[str, Any] = {}
    for capability, request in possible.items():
        wanted |= request if capability in call.capabilities else {}
    return asking("asked", **wanted)


def answer_of(call: McpRequest, key: str) -> Any:
    """What the client answered to one of the requests of an earlier result; an answer of no use is asked for again."""
    answers = call.params.input_responses
    answer = answers.get(key) if isinstance(answers, dict) else None
    return answer if isinstance(answer, dict) else None


def asking(state: str = "", **requests: Any) -> Result:
    """A result that asks the client for more."""
    return {"inputRequests": requests} | ({"requestState": state} if state else {})


def question(message: str, key: str, kind: str = "string") -> dict[str, Any]:
    schema = {"type": "object", "properties": {key: {"type": kind}}, "required": [key]}
    return {"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}}


def sampling(prompt: str) -> dict[str, Any]:
    params = {"messages": [{"role": "user", "content": text(prompt)}], "maxTokens": 100}
    return {"method": "sampling/createMessage", "params": params}


async def elicited(call: McpRequest, message: str, properties: dict[str, Any]) -> Result:
    schema = {"type": "object", "properties": properties, "required": []}
    answer = await call.ask("elicitation/create", {"message": message, "requestedSchema": schema})
    return said(f"Elicitation completed: action={answer['action']}, content={json.dumps(answer.get('content'))}")


RESOURCES: dict[str, dict[str, Any]] = {
    "test://static-text": {"mimeType": "text/plain", "text": "This is the content of the static text resource."},
    "test://static-binary": {"mimeType": "image/png", "blob": PIXEL},
    "test://watched-resource": {"mimeType": "text/plain", "text": "watched"},
}
TEMPLATE = ("test://template/", "/data")


def templated(uri: str) -> dict[str, Any] | None:
    """The content of a resource that a template describes."""
    start, end = TEMPLATE
    if not (uri.startswith(start) and uri.endswith(end)):
        return None
    number = uri[len(start) : -len(end)]
    body = {"id": number, "templateTest": True, "data": f"Data for ID: {number}"}
    return {"mimeType": "application/json", "text": json.dumps(body)}


def user(*parts: dict[str, Any]) -> Result:
    return {"messages": [{"role": "user", "content": part} for part in parts]}


def _asking_prompt(call: McpRequest, arguments: dict[str, str]) -> Result:
    if answer := answer_of(call, "user_context"):
        return user(text(f"Use {answer['content']['context']}"))
    return asking(user_context=question("In which context?", "context"))


Prompt = Callable[[McpRequest, dict[str, str]], Result]
PROMPTS: dict[str, tuple[tuple[str, ...], Prompt]] = {
    "test_simple_prompt": ((), lambda _, __: user(text("This is a simple prompt for testing."))),
    "test_prompt_with_arguments": (
        ("arg1", "arg2"),
        lambda _, given: user(text(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")),
    ),
    "test_prompt_with_embedded_resource": (
        ("resourceUri",),
        lambda _, given: user(
            embedded(given["resourceUri"], "Embedded resource content for testing."), text("Please process it.")
        ),
    ),
    "test_prompt_with_image": ((), lambda _, __: user(image(PIXEL), text("Please analyze it."))),
    "test_input_required_result_prompt": ((), _asking_prompt),
}
"""Arguments and content of each prompt."""
