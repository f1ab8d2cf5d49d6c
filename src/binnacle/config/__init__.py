"""Where a project is and how it is set up: no work data, no database.

directories, place          where data, settings and git's folders are; the place that a command is about
identity                    which project a place is; identity_files and project_record record it
settings                    from defaults, user, project and environment; settings_file changes one
trust                       what a person has trusted
person, git_config          who the person is, and what git knows about them
access_tokens               secrets that we issue
child_environment           the environment of each kind of process; server_variables, store_access

repository_files            opens files of a project, and never anything outside of it; project_files lists them
private_files               our own files and folders, closed to other users
atomic_write, file_replacement, file_lock
                            files that are never half written, and one writer at a time
rolling_file                a log of limited size, which several processes may write
yaml_file, command_words    YAML that people write, with the line of every error; commands in it
clients/                    the files of agent clients
"""
