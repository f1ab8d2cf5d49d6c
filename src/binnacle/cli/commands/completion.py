"""`bn completion`: what the shell offers on Tab."""

import sys
from argparse import Namespace

from binnacle.cli.command import READS, Argument, Command, Group, arg
from binnacle.cli.command_index import GROUPS, SHORT_FORMS
from binnacle.cli.context import Context
from binnacle.cli.output import HUMAN_HELP, JSON_HELP
from binnacle.cli.parser import expand, find_command, load_group
from binnacle.cli.screen import Screen, printable
from binnacle.errors import BinnacleError

COMPLETION = Group("completion")

MAX_OFFERED = 200
PREFIX = "bn-"
"""Begins the id of every task."""

_SCRIPTS = {
    "bash": """_bn() {
    local IFS=$'\\n'
    COMPREPLY=($(bn completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o default -F _bn bn
""",
    "zsh": """#compdef bn
_bn() {
    local -a found
    local line
    for line in "${(@f)$(bn completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        [[ -n $line ]] && found+=("${${line%%$'\\t'*}//:/\\\\:}:${line#*$'\\t'}")
    done
    _describe bn found || _files
}
compdef _bn bn
""",
    "fish": """function __bn_words
    set -l words (commandline -opc) (commandline -ct)
    bn completion words -- $words[2..] 2>/dev/null
end
complete -c bn -f -a '(__bn_words)'
""",
}


def _nothing(answer: None, screen: Screen) -> None:
    """Both commands print for the shell, not for a reader."""


@COMPLETION.command(
    "",
    "print the completion script of a shell",
    'eval "$(bn completion bash)"',
    arg("shell", choices=tuple(_SCRIPTS), help="your shell"),
    view=_nothing,
    needs=READS,
)
def script(context: Context, args: Namespace) -> None:  # noqa: ARG001
    sys.stdout.write(_SCRIPTS[args.shell])


@COMPLETION.command(
    "words",
    "what may come next, a word and its description per line; the scripts call this",
    "bn completion words -- task sh",
    arg("words", nargs="*", help="the words typed so far, the last one unfinished"),
    view=_nothing,
    needs=READS,
)
def words(context: Context, args: Namespace) -> None:
    typed: list[str] = args.words or [""]
    try:
        found = _candidates(context, typed[:-1], typed[-1])
    except BinnacleError:
        # A mistake on the line is reported when it is run, not while it is typed.
        return
    for word, description in found:
        if word.startswith(typed[-1]):
            sys.stdout.write(f"{printable(word)}\t{printable(description)[:70]}\n")


def _candidates(context: Context, before: list[str], last: str) -> list[tuple[str, str]]:

    while before and before[0].startswith("-"):
        before = before[2:] if before[0] in ("-C", "--repo") else before[1:]
    if not before:
        short = [(name, f"short for bn {whole}") for name, whole in SHORT_FORMS.items()]
        return [*((name, text) for name, (_, text) in GROUPS.items()), *short]
    before = expand(before)
    group = load_group(before[0])
    command, rest = find_command(group, before[1:])
    place = len(before) - 1
    more = [(words.split()[place], one.help) for words, one in group.commands.items() if _continues(words, before[1:])]
    if last.startswith("-"):
        return _options(command)
    return more + (_values(context, command, rest, last) if command else [])


def _continues(words: str, typed: list[str]) -> bool:
    return bool(words) and words.split()[: len(typed)] == typed and len(words.split()) > len(typed)


def _options(command: Command | None) -> list[tuple[str, str]]:

    own = command.arguments if command else ()
    found = [(name, one.options.get("help", "")) for one in own for name in one.names if name.startswith("--")]
    return [*found, ("--human", HUMAN_HELP), ("--json", JSON_HELP), ("--repo", "the repository"), ("--help", "help")]


def _values(context: Context, command: Command, rest: list[str], last: str) -> list[tuple[str, str]]:
    """Values for the option just typed, or else for the positional arguments."""
    previous = rest[-1] if rest else ""
    takes_value = [one for one in command.arguments if previous in one.names and "action" not in one.options]
    takes_value += [one for one in command.arguments if previous in one.names and one.options.get("action") == "append"]
    chosen = takes_value or [one for one in command.arguments if not one.names[0].startswith("-")]
    return [value for one in chosen for value in _values_of(context, one, last)]


def _values_of(context: Context, argument: Argument, last: str) -> list[tuple[str, str]]:
    from binnacle.work.status import KINDS, PRIORITIES, STATUSES

    words = {"status": STATUSES, "kind": KINDS, "priority": PRIORITIES}.get(argument.completes)
    if choices := argument.options.get("choices") or words:
        return [(choice, "") for choice in choices]
    if not argument.completes:
        return []
    if argument.completes == "recipe":
        from binnacle.plan.recipe_loader import recipe_files
        from binnacle.work.recipe_names import RECIPE_ALIASES

        return [
            *((name, "") for name in recipe_files(context.project.repo)),
            *((alias, f"another name of {own}") for alias, own in RECIPE_ALIASES.items()),
        ]
    if argument.completes == "task":
        return _tasks(context, last)
    from binnacle.store import features

    with context.reading() as tx:
        found = features.list_features(tx) if argument.completes == "feature" else features.list_disciplines(tx)
        return [(one.name, one.title) for one in found]


def _tasks(context: Context, typed: str) -> list[tuple[str, str]]:
    """The tasks whose ids begin as typed, closed ones too; while nothing is typed, the open ones by urgency.

    Who types the digits alone is offered digits: most shells offer only what begins with what stands there.
    """
    from binnacle.store import tasks

    with context.reading() as tx:
        if PREFIX.startswith(typed):
            found, _ = tasks.list_tasks(tx, tasks.TaskFilter(), limit=MAX_OFFERED)
            return [(task.id, task.title) for task in found]
        begun = tasks.list_beginning_with(tx, f"{PREFIX}{typed.removeprefix(PREFIX)}".lower(), limit=MAX_OFFERED)
    return [(one if typed.startswith(PREFIX) else one.removeprefix(PREFIX), title) for one, title in begun]
