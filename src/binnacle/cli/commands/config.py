"""`bn config`: settings of the project and of the user."""

from argparse import Namespace

from msgspec import UNSET, field

from binnacle.cli.command import READS, CommandAnswer, Group, arg, by_person
from binnacle.cli.context import Context
from binnacle.cli.screen import Screen, printable
from binnacle.config.directories import project_config_file, user_config_file
from binnacle.config.settings import SETTINGS, Settings, find_setting

CONFIG = Group("config")

KEY = arg("key", help="such as store.url; bn config list names them all")
USER = arg("--user", action="store_true", help="in your own file instead of the project's")

UNTRUSTED = "the project's file sets it, and nobody has trusted that; see: bn trust"
PERSONAL = "the project's file sets it, but only each person may set it: bn config set"


class ListedSetting(CommandAnswer):
    """A setting, its value and where that comes from."""

    key: str
    value: object
    origin: str = field(name="from")
    help: str
    ignored: object = UNSET
    """What the project's file says without effect."""

    why: str = ""


class SettingsAnswer(CommandAnswer):
    """All settings."""

    settings: list[ListedSetting]


class SettingAnswer(CommandAnswer):
    """The value of a setting, and where it comes from."""

    key: str
    value: object
    origin: str = field(name="from")


class WrittenSettingAnswer(CommandAnswer):
    """A setting as it is in a file now; None where it was taken out."""

    key: str
    value: object
    file: str


def _show_list(answer: SettingsAnswer, screen: Screen) -> None:
    rows = ((one.key, str(one.value), one.origin, one.help) for one in answer.settings)
    screen.table(rows, flexible=3, headings=("SETTING", "VALUE", "FROM", "WHAT IT IS"))
    for one in answer.settings:
        if one.ignored is not UNSET:
            value = printable(str(one.ignored))
            screen.line(f"{screen.styled('!', 'yellow')} {one.key} = {value} is ignored: {one.why}")


def _show_one(answer: SettingAnswer | WrittenSettingAnswer, screen: Screen) -> None:
    screen.line(str(answer.value))


@CONFIG.command(
    "list", "all settings, their values and where those come from", "bn config list", view=_show_list, needs=READS
)
def list_settings(context: Context, args: Namespace) -> SettingsAnswer:  # noqa: ARG001
    settings = context.project.settings
    return SettingsAnswer(settings=[_describe(key, settings) for key in SETTINGS])


def _describe(key: str, settings: Settings) -> ListedSetting:
    setting, is_ignored = SETTINGS[key], key in settings.ignored
    why = PERSONAL if setting.is_personal else UNTRUSTED
    return ListedSetting(
        key=key,
        value=_hide_secret(key, settings.values[key]),
        origin=settings.origins[key],
        help=setting.help,
        ignored=_hide_secret(key, settings.ignored[key]) if is_ignored else UNSET,
        why=why if is_ignored else "",
    )


@CONFIG.command("get", "the value of a setting", "bn config get claim.minutes", KEY, view=_show_one, needs=READS)
def get(context: Context, args: Namespace) -> SettingAnswer:
    setting = find_setting(args.key)
    settings = context.project.settings
    return SettingAnswer(key=setting.key, value=settings.values[setting.key], origin=settings.origins[setting.key])


@CONFIG.command(
    "set",
    "set a value, in the project's file or in your own",
    "bn config set project.title 'The Shop'",
    KEY,
    arg("value", help="the value"),
    USER,
    view=_show_one,
    needs=by_person("change settings"),
)
def set_value(context: Context, args: Namespace) -> WrittenSettingAnswer:
    return _write(context, args, args.value)


@CONFIG.command(
    "unset",
    "remove a value from the file",
    "bn config unset store.url --user",
    KEY,
    USER,
    view=_show_one,
    needs=by_person("change settings"),
)
def unset(context: Context, args: Namespace) -> WrittenSettingAnswer:
    return _write(context, args, None)


def _write(context: Context, args: Namespace, value: str | None) -> WrittenSettingAnswer:
    from binnacle.config.place import find_repo
    from binnacle.config.settings_file import write_setting

    # Not through the project: a file with a mistake in it must stay repairable.
    is_own = args.user or find_setting(args.key).is_personal
    path = user_config_file() if is_own else project_config_file(find_repo(args.repo or context.start))
    written = write_setting(path, args.key, value)
    if not is_own and written is not None and find_setting(args.key).does:
        from binnacle.app.trust_review import grant_written
        from binnacle.project.project import find_project

        grant_written(find_project(args.repo or context.start), f"setting:{args.key}")
    return WrittenSettingAnswer(key=args.key, value=written, file=path)


def _hide_secret(key: str, value: object) -> object:
    """Passwords are not printed in a list that may be pasted somewhere."""
    if key != "store.url" or "@" not in str(value):
        return value
    scheme, _, rest = str(value).partition("://")
    return f"{scheme}://…@{rest.rpartition('@')[2]}"
