"""Adds Binnacle to the configuration of agent clients, and removes it again.

known_clients       which files each client reads, and what our entry looks like there
client_files        where these files are on this machine
jsonc, jsonc_parser, toml, yaml, agents_section, config_text
                    change text without reformatting it, and touch no file
setup_plan          decides what to change in each file, and changes it
foreign_files       reads, locks, backs up and replaces the files of other programs
configured_servers  the servers that a client already has
client_start, run_start, session_server, provider_variables
                    how a client is started on one session, with the servers of its plan
"""
