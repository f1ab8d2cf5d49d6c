"""The next steps about upstream servers that errors name. All of them are for people: sign in, trust, enable."""

from binnacle.errors import NextStep


def sign_in(name: str, *, words: str = "sign in") -> NextStep:
    """Log in to a server in a browser."""
    return NextStep(words, f"upstream login {name}", for_person=True)


def trust(name: str) -> NextStep:
    """Trust a server of the project, so that it is started or connected to."""
    return NextStep("look at it and trust it", f"trust server:{name}", for_person=True)


def enable(name: str) -> NextStep:
    """Enable a server again."""
    return NextStep("turn it on", f"upstream enable {name}", for_person=True)


def accept(name: str, tool: str) -> NextStep:
    """Accept a tool as it is now."""
    return NextStep("look at the change and accept it", f"upstream accept {name} {tool}", for_person=True)


def list_tools(name: str) -> NextStep:
    """See the tools of a server."""
    return NextStep("list its tools", f"upstream tools {name}", optional=True)


LIST_SERVERS = NextStep("list the servers", "upstream list")
