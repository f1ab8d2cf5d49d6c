"""Operations on a whole store, for `bn store` and `bn doctor`.

- `export_format`: a store as JSON lines, written and read; `importer` merges such a file into a store.
- `export_file`: writes an export to a file, complete or not at all, and as a backup.
- `checks`: finds errors in a store, and fixes what can be derived from other data.
- `recovery`: saves what can still be read from a damaged SQLite file.
- `file_summary`: what is in a store file, without opening it as a store.
"""
