"""Failures of agents, as errors for people."""

from binnacle.errors import AgentEnded, AgentError, AgentLimited, AgentLogin
from binnacle.runner.agents.agent_commands import AgentCommand
from binnacle.runner.agents.rate_limits import limit_in_error, limit_in_log
from binnacle.wire import acp
from binnacle.wire.jsonrpc import METHOD_NOT_FOUND, RpcError

MAX_SHOWN_CHARACTERS = 2000
"""Characters of an agent's own message in an error."""


def error_of_answer(
    agent: AgentCommand, error: RpcError, *, doing: str, login: tuple[acp.AuthMethod, ...] = ()
) -> AgentError:
    """The error for a request that the agent answered with an error."""
    said = _message_of(error)
    if (limit := limit_in_error(error.message, error.data)) is not None:
        return error_of_limit(agent, said, limit.after)
    if error.code == acp.AUTH_REQUIRED:
        ways = ", ".join(method.name or method.id for method in login)
        hint = agent.login or (f"log in by one of: {ways}" if ways else "log in with the agent's own command")
        return AgentLogin(f"{agent.name} wants a login: {said}", hint=hint)
    if error.code == METHOD_NOT_FOUND:
        return AgentError(f"{agent.name} cannot do {doing}: {said}", hint="a newer version of it may")
    return AgentError(f"{agent.name} failed at {doing}: {said}", hint="see its log", details={"code": error.code})


def error_of_limit(agent: AgentCommand, said: str, after: float | None) -> AgentLimited:
    """The error for a model provider that takes no requests now, or does not answer."""
    hint = "try again later" if after is None else f"try again in {after:g} seconds"
    return AgentLimited(f"the provider of {agent.name} takes no requests now: {said}", after=after, hint=hint)


def error_of_end(agent: AgentCommand, code: int, last_words: str) -> AgentError:
    """The error for an agent's process that ended too early."""
    if code and (limit := limit_in_log(last_words)) is not None:
        return error_of_limit(agent, last_words[-MAX_SHOWN_CHARACTERS:], limit.after)
    how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
    said = f"; its last output:\n{last_words[-MAX_SHOWN_CHARACTERS:]}" if last_words else ""
    return AgentEnded(f"{agent.name} {how}{said}", hint=agent.try_it, details={"exit_code": code})


def _message_of(error: RpcError) -> str:
    """The message of an error, or its data if the message is empty."""
    details = error.data
    if isinstance(details, dict):
        details = details.get("details") or details.get("message") or details.get("error") or details
    more = f" ({details})" if details and str(details) not in error.message else ""
    return (error.message + more)[:MAX_SHOWN_CHARACTERS] or f"error {error.code}"
