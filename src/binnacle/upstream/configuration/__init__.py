"""Which servers are configured: files, flags and disciplines, read into checked values.

server_config        the values: `ServerConfig` and what it is made of
server_loader        which files are read (`config_paths`), which of two entries counts, what has changed
server_entry         from an entry as people write it to a value (`entry_fields`, `variable_expansion`)
server_trust         which servers wait for a person
server_overview      what is configured, for people to look at (`server_target`, `secret_masking`)
config_edit          changes one entry in a file
client_import        finds servers in the files of other clients
"""
