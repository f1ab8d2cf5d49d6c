"""Changes a settings file in place: comments, order and layout of the rest stay as they are."""

import os

from binnacle.config import repository_files
from binnacle.config.atomic_write import write_atomically
from binnacle.config.private_files import FILE_MODE, is_private_place, make_folder
from binnacle.config.settings import Value, find_setting, parse_value
from binnacle.errors import ConfigError


def write_setting(path: str, key: str, value: str | None) -> Value | None:
    """Sets `key` in the file at `path`, or takes it out when `value` is None. Returns what was written.

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
        hint = repository_files.hint_of(error, "mend the file by hand first")
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


def replace_file(path: str, content: str, *, root: str | None = None) -> None:
    """Writes `content` to `path` so that a reader sees the old file or the new one, never a part.

    `root` is the repository, for a file of a project that its path does not show to be one.
    """
    try:
        if (top := root or repository_files.root_of(path)) is not None:
            repository_files.write_inside(top, os.path.abspath(path), content.encode())
        else:
            _replace_own(os.path.realpath(path), content.encode())
    except OSError as error:
        hint = repository_files.hint_of(error, "check permissions and free space")
        raise ConfigError(f"cannot write {path}: {error.strerror}", hint=hint) from error


def _replace_own(path: str, content: bytes) -> None:
    """Replaces a file of the person's, where its link leads."""
    make_folder(os.path.dirname(path))
    mode = os.stat(path).st_mode & 0o777 if os.path.exists(path) else 0o644
    mode = FILE_MODE if is_private_place(path) else mode
    write_atomically(path, content, mode=mode, is_lasting=True)
