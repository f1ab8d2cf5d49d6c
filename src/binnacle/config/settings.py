"""The settings of a project: defaults, overridden by user file, project file and environment, in that order.

The project's file comes with the repository. A setting in it that would run a command, use another place or give more
rights is ignored until a person has trusted it (`config.trust`).
"""

import os
from typing import TYPE_CHECKING, Literal, NamedTuple

from binnacle.config import repository_files
from binnacle.config.directories import project_config_file, user_config_file
from binnacle.errors import ConfigError, InvalidInput

if TYPE_CHECKING:
    from binnacle.config.trust import TrustItem

Scope = Literal["default", "user", "project", "environment"]
Value = str | int | float


class Setting(NamedTuple):
    """One setting."""

    key: str
    default: Value
    help: str
    variable: str = ""
    """Environment variable that overrides the files, if any."""

    minimum: float = 0
    """Smallest number accepted; ignored for text."""

    does: str = ""
    """What a project's value would do that needs trust, after `it would`. Empty if a project may set it freely."""

    choices: tuple[str, ...] = ()
    """The accepted words; empty for any text."""

    is_personal: bool = False
    """Whether only each person may set it, in their own file or environment, and never a project."""


SETTINGS = {
    setting.key: setting
    for setting in (
        Setting(
            "store.url",
            "",
            "PostgreSQL URL; empty for SQLite in the data directory",
            "BN_STORE_URL",
            does="send your password and all tasks to this database",
        ),
        Setting(
            "store.project",
            "",
            "name of the project in the database; the repository's when empty",
            "BN_STORE_PROJECT",
            does="use the tasks of the project of this name",
        ),
        Setting(
            "store.schema",
            "",
            "PostgreSQL schema; that of the project when empty",
            "BN_STORE_SCHEMA",
            does="use the tasks in this schema of the database",
        ),
        Setting("store.timeout", 10.0, "seconds to wait for a locked store", "BN_STORE_TIMEOUT", 0.1),
        Setting(
            "claim.minutes", 30.0, "how long an agent's claim lasts without a sign of life", "BN_CLAIM_MINUTES", 0.01
        ),
        Setting(
            "run.agent",
            "",
            "the agent that bn run starts: a name or a command",
            "BN_RUN_AGENT",
            does="run this command as the agent of bn run",
        ),
        Setting("run.model", "", "the model it uses; its own choice when empty", "BN_RUN_MODEL"),
        Setting("run.recipe", "", "the recipe of its iterations; loop when empty", "BN_RUN_RECIPE"),
        Setting(
            "run.approve",
            "",
            "what it may do: ask, edits, all or none",
            "BN_RUN_APPROVE",
            does="decide what the agents of bn run may do without asking you",
        ),
        Setting("run.silence_minutes", 15.0, "how long an agent may say nothing", "BN_RUN_SILENCE_MINUTES", 0.01),
        Setting("run.iteration_minutes", 120.0, "how long an iteration may take", "BN_RUN_ITERATION_MINUTES", 0.01),
        Setting(
            "run.agents",
            "",
            "other agents, by stage (plan, review, merge) or discipline: plan=claude; frontend=codex model=M recipe=R",
            "BN_RUN_AGENTS",
            does="run these commands as agents of bn run",
        ),
        Setting(
            "run.permission_minutes",
            60.0,
            "how long an agent's request for permission waits for a person; then it is refused",
            "BN_RUN_PERMISSION_MINUTES",
            0.001,
        ),
        Setting(
            "checks.attempts",
            5.0,
            "how often checks may fail for different commits, until a task outside of runs is handed to a person",
            "BN_CHECKS_ATTEMPTS",
            1,
        ),
        Setting(
            "checks.answer_seconds",
            45.0,
            "how long a tool call waits for checks before it answers that they still run",
            "BN_CHECKS_ANSWER_SECONDS",
        ),
        Setting(
            "run.notify",
            "true",
            "whether the desktop shows what waits for you in a run: true or false; a personal setting",
            "BN_RUN_NOTIFY",
            choices=("true", "false"),
            is_personal=True,
        ),
        Setting("run.attempts", 3.0, "attempts at a task, after which it is handed to a person", "BN_RUN_ATTEMPTS", 1),
        Setting(
            "run.task_minutes", 0.0, "minutes that one task may take in all; 0 for no limit", "BN_RUN_TASK_MINUTES"
        ),
        Setting("run.task_cost", 0.0, "what one task may cost in all; 0 for no limit", "BN_RUN_TASK_COST"),
        Setting(
            "run.outage_hours",
            6.0,
            "how long to wait for a provider that does not answer",
            "BN_RUN_OUTAGE_HOURS",
        ),
        Setting(
            "run.remote",
            "",
            "the git remote by which several machines exchange the work of a run",
            "BN_RUN_REMOTE",
            does="push the branches of runs to this remote",
        ),
        Setting(
            "output",
            "auto",
            "how answers are written: auto (for people on a terminal, else JSON), human or json; a personal setting",
            "BN_OUTPUT",
            choices=("auto", "human", "json"),
            is_personal=True,
        ),
        Setting("project.title", "", "name of the project in prompts and pages"),
        Setting("project.description", "", "what the project is, in a sentence or two"),
    )
}
"""Every setting, by key."""


class Settings(NamedTuple):
    """The values in force, and where each comes from."""

    values: dict[str, Value]
    origins: dict[str, Scope]
    ignored: dict[str, Value]
    """Ignored values of the project's file: no person has trusted them, or only each person may set them."""

    def text(self, key: str) -> str:
        return str(self.values[key])

    def number(self, key: str) -> float:
        return float(self.values[key])


def load_settings(repo: str) -> Settings:
    """The settings in force for `repo`.

    Raises:
        ConfigError: a file cannot be parsed, or has an unknown key or a wrong value.
    """
    values: dict[str, Value] = {key: setting.default for key, setting in SETTINGS.items()}
    origins: dict[str, Scope] = dict.fromkeys(SETTINGS, "default")
    shared = read_file(project_config_file(repo))
    personal = [key for key in shared if SETTINGS[key].is_personal]
    ignored = {key: shared.pop(key) for key in (*personal, *(item.name for item in _find_untrusted(repo, shared)))}
    files: tuple[tuple[Scope, dict[str, Value]], ...] = (("user", read_file(user_config_file())), ("project", shared))
    for scope, found in files:
        values |= found
        origins |= dict.fromkeys(found, scope)
    for key, setting in SETTINGS.items():
        given = os.environ.get(setting.variable) if setting.variable else None
        if given:
            values[key] = parse_value(key, given, where=f"environment variable {setting.variable}")
            origins[key] = "environment"
    return Settings(values, origins, ignored)


def find_personal(key: str) -> str:
    """The value of a personal setting, also outside of a project.

    Raises:
        ConfigError: the person's file cannot be parsed, or the value does not fit the setting.
    """
    setting = SETTINGS[key]
    if given := os.environ.get(setting.variable):
        return str(parse_value(key, given, where=f"environment variable {setting.variable}"))
    return str(read_file(user_config_file()).get(key, setting.default))


def find_items(repo: str, shared: dict[str, Value] | None = None) -> "list[TrustItem]":
    """The settings in the project's file that a person has to trust.

    Raises:
        ConfigError: the file cannot be parsed.
    """
    path = project_config_file(repo)
    shared = read_file(path) if shared is None else shared
    wanted = [SETTINGS[key] for key in shared if SETTINGS[key].does]
    if not wanted:
        return []
    from binnacle.config.trust import TrustItem

    return [
        TrustItem(kind="setting", name=one.key, place=path, does=one.does, content=f"{one.key} = {shared[one.key]}")
        for one in wanted
    ]


def _find_untrusted(repo: str, shared: dict[str, Value]) -> "list[TrustItem]":
    items = find_items(repo, shared)
    if not items:
        return []
    from binnacle.config.trust import is_trusted

    return [item for item in items if not is_trusted(repo, item)]


def read_file(path: str) -> dict[str, Value]:
    """The settings in one file, flattened to dotted keys; empty if there is no such file."""
    try:
        content = repository_files.read_file(path)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}", hint=repository_files.hint_of(error)) from error
    import tomllib

    try:
        tables = tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}", hint="fix or remove that line") from error
    found: dict[str, Value] = {}
    for name, entry in tables.items():
        values = {f"{name}.{key}": value for key, value in entry.items()} if isinstance(entry, dict) else {name: entry}
        if name not in SETTINGS and not isinstance(entry, dict):
            raise ConfigError(f"{path}: {name!r} is outside of a table", hint=_known_keys())
        found |= {key: parse_value(key, value, where=path) for key, value in values.items()}
    return found


def parse_value(key: str, value: object, *, where: str) -> Value:
    """Checks one value against its setting; text is accepted for numbers, as environment variables need."""
    setting = find_setting(key, where=where)
    if isinstance(setting.default, str):
        if setting.choices and value not in setting.choices:
            words = " or ".join(", ".join(setting.choices).rsplit(", ", 1))
            raise ConfigError(f"{where}: {key} takes {words}, not {value!r}", hint=f"{key}: {setting.help}")
        if isinstance(value, str):
            return value
        raise ConfigError(f"{where}: {key} takes text, not {value!r}", hint=f"{key}: {setting.help}")
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = float("nan")
    if isinstance(value, bool) or not setting.minimum <= number < 1e9:
        raise ConfigError(
            f"{where}: {key} takes a number of at least {setting.minimum:g}, not {value!r}",
            hint=f"{key}: {setting.help}",
        )
    return number


def find_setting(key: str, *, where: str = "") -> Setting:
    """The setting called `key`; the error names the nearest one."""
    if setting := SETTINGS.get(key):
        return setting
    from difflib import get_close_matches

    near = get_close_matches(key, SETTINGS, n=1, cutoff=0.5)
    message = f"{where}: unknown setting {key!r}" if where else f"unknown setting {key!r}"
    hint = f"did you mean {near[0]!r}?" if near else _known_keys()
    raise (ConfigError if where else InvalidInput)(message, hint=hint)


def _known_keys() -> str:
    return "known settings: " + ", ".join(SETTINGS)
