"""What is done with a store as a whole, and seldom: by `bn store` and `bn doctor`.

- `export_format`: a store as JSON lines, written and read; `importer` merges such a file into a store.
- `checks`: finds what cannot be right in a store, and fixes what follows from the rest.
- `recovery`: saves what can still be read from a damaged SQLite file.
- `file_summary`: what is in a store file, without opening it as a store.
"""
