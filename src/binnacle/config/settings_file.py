"""Changes a settings file in place: comments, order and layout of the rest stay as they are."""

from binnacle.config import repository_files
from binnacle.config.file_replacement import replace_file
from binnacle.config.settings import Value, find_setting, parse_value
from binnacle.errors import ConfigError


def write_setting(path: str, key: str, value: str | None) -> Value | None:
    """Sets `key` in the file at `path`, or removes it if `value` is None. Returns the new value.

    Raises:
        ConfigError: the file cannot be parsed or written, or the value does not fit the setting.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    find_setting(key)
    parsed = None if value is None else parse_value(key, value, where="the given value")
    table_name, _, name = key.rpartition(".")
    try:
        document = tomlkit.parse(repository_files.read_file(path).decode())
    except FileNotFoundError:
        if parsed is None:
            return None
        document = tomlkit.document()
    except (OSError, UnicodeDecodeError, TOMLKitError) as error:
        hint = repository_files.hint_of(error, "fix the file by hand first")
        raise ConfigError(f"cannot change {path}: {error}", hint=hint) from error
    table = document.setdefault(table_name, tomlkit.table()) if table_name else document
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: {table_name!r} is not a table", hint=f"write it as [{table_name}]")
    if parsed is None:
        table.pop(name, None)
        if table_name and not table:
            document.pop(table_name)
    else:
        table[name] = int(parsed) if isinstance(parsed, float) and parsed.is_integer() else parsed
    replace_file(path, tomlkit.dumps(document))
    return parsed
