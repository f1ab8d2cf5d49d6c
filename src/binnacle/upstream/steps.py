"""The next steps about upstream servers that errors name. All of them are for people: they sign in, trust, switch."""

from binnacle.errors import NextStep


def sign_in(name: str, *, words: str = "sign in") -> NextStep:
    """Log in to a server in a browser."""
    return NextStep(words, f"upstream login {name}", for_person=True)


def trust(name: str) -> NextStep:
    """Let the project start a server's command, or connect to it."""
    return NextStep("look at it and trust it", f"trust server:{name}", for_person=True)


def enable(name: str) -> NextStep:
    """Switch a server on again."""
    return NextStep("turn it on", f"upstream enable {name}", for_person=True)


LIST_SERVERS = NextStep("list the servers", "upstream list")
