"""Puts Binnacle into the configuration of agent clients, and takes it out again.

known_clients       what each client reads, where, and what our entry looks like there
client_files        where that is on this machine
jsonc, jsonc_parser, toml, yaml, agents_section, config_text
                    change text without reformatting it, and touch no file
setup_plan          decides with them what becomes of each file
foreign_files       reads, locks, backs up and replaces the files of other programs
configured_servers  the servers that a client has already
client_start, run_start, session_server, provider_variables
                    how a client is started on one session, with the servers of its plan
"""
