"""Writes the reference pages from the code they describe: commands, errors, settings; and what was measured.

    make docs

A test runs this and compares: a command, an error code or a setting that is not documented fails it.
"""

import argparse
import sys
from pathlib import Path

from binnacle import errors
from binnacle.bridge.error_codes import ERROR_CODES
from binnacle.cli.command import Argument, Command, Group
from binnacle.cli.command_index import GROUPS, SHORT_FORMS, TOPICS
from binnacle.cli.parser import load_group
from binnacle.config.settings import SETTINGS

HERE = Path(__file__).parent


def pages() -> dict[str, str]:
    """Every generated page, by file name."""
    reference = {"commands.md": commands_page(), "errors.md": errors_page(), "settings.md": settings_page()}
    return reference | performance_files()


def performance_files() -> dict[str, str]:
    """The page of the last whole run of the benchmarks, and its chart."""
    sys.path.insert(0, str(HERE.parent))
    try:
        from bench.page import files
    finally:
        sys.path.pop(0)
    return files()


def commands_page() -> str:
    """All commands with their arguments and an example."""
    parts = [
        "# Commands",
        "Made from the code by `make docs`. On a terminal answers are for people, elsewhere JSON. Every command also "
        "takes `-H`/`--human` (for people, also in a pipe), `--json` (JSON, also on a terminal), `-C`/`--repo DIR` and "
        "`-h`/`--help`; they may stand before the command too. `bn` alone is `bn status`.",
        *(f"**{topic}**\n\n{_list_groups(names)}" for topic, names in TOPICS.items()),
        f"**Short forms**\n\n{_list_short_forms()}",
    ]
    for name, (_, text) in GROUPS.items():
        group = load_group(name)
        parts.append(f"## bn {name}\n\n{text[0].upper()}{text[1:]}.")
        parts += [_command(group, command) for command in group.commands.values()]
    return "\n\n".join(parts) + "\n"


def _list_groups(names: tuple[str, ...]) -> str:
    return "\n".join(f"- [`bn {name}`](#bn-{name}): {GROUPS[name][1]}" for name in names)


def _list_short_forms() -> str:
    return "\n".join(f"- `bn {short}` is `bn {whole}`" for short, whole in SHORT_FORMS.items())


def _command(group: Group, command: Command) -> str:
    usage = " ".join(filter(None, ("bn", group.name, command.words)))
    positional = [one for one in command.arguments if not one.names[0].startswith("-")]
    words = " ".join(_placeholder(one) for one in positional)
    heading = f"### `{f'{usage} {words}'.strip()}`"
    rows = [f"| `{_names(one)}` | {_cell(one)} |" for one in command.arguments]
    table = "\n".join(["| argument | meaning |", "|---|---|", *rows]) if rows else ""
    example = f"```sh\n{command.example}\n```"
    return "\n\n".join(filter(None, (heading, f"{command.help[0].upper()}{command.help[1:]}.", table, example)))


def _placeholder(argument: Argument) -> str:
    name = argument.options.get("metavar") or argument.names[0].upper()
    count = argument.options.get("nargs")
    return {"?": f"[{name}]", "*": f"[{name} …]", "+": f"{name} …"}.get(count, name)


def _names(argument: Argument) -> str:
    if not argument.names[0].startswith("-"):
        return _placeholder(argument)
    if argument.options.get("action") == "store_true":
        return ", ".join(argument.names)
    value = argument.options.get("metavar") or argument.names[-1].lstrip("-").upper()
    return f"{', '.join(argument.names)} {value}"


def _cell(argument: Argument) -> str:
    text = argument.options.get("help", "").replace("|", "\\|")
    choices = argument.options.get("choices")
    required = " (required)" if argument.options.get("required") else ""
    return f"{text}{required}{': ' + ', '.join(f'`{choice}`' for choice in choices) if choices else ''}"


def errors_page() -> str:
    """All error codes, as the tree they form."""
    tree = (errors.__doc__ or "").split("\n\n")[1]
    lines = [line.removeprefix("    ") for line in tree.splitlines()]
    return "\n".join(
        (
            "# Errors",
            "",
            "Made from the code by `make docs`. An error goes to stderr as "
            '`{"error": {"code", "message", "hint", "retryable", "details"}}` with exit code 1, '
            "or 2 when the command line itself is wrong; on a terminal, and with `-H`, as `error: …` and `hint: …`. "
            "The code is stable; the hint is the next step. `retryable` is there when the same call may succeed later.",
            "",
            "```",
            *lines,
            "```",
            "",
            "## Scripts and their hosts",
            "",
            "A `BridgeError` has the code of what went wrong. Scripts of a project may have codes of their own.",
            "",
            "| about | code | when |",
            "|---|---|---|",
            *(
                f"| {about} | `{code}` | {when} |"
                for about, found in ERROR_CODES.items()
                for code, when in found.items()
            ),
            "",
        )
    )


def settings_page() -> str:
    """All settings."""
    rows = [
        f"| `{one.key}` | `{one.default!r}` | {f'`{one.variable}`' if one.variable else ''} | {one.help} |"
        for one in SETTINGS.values()
    ]
    return "\n".join(
        (
            "# Settings",
            "",
            "Made from the code by `make docs`. A value in the environment beats the project's "
            "`.binnacle/config.toml`, which beats the user's `$XDG_CONFIG_HOME/binnacle/config.toml`, which beats the "
            "default. Change them with `bn config set KEY VALUE` (`--user` for your own file).",
            "",
            "| setting | default | variable | what it is |",
            "|---|---|---|---|",
            *rows,
            "",
        )
    )


def main() -> None:
    """Writes the pages."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    for name, text in pages().items():
        (HERE / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
