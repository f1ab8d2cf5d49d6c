"""Where a project is and how it is set up: no work data, no database.

directories, place          where things are: data, settings, git's folders; the place a command is about
identity                    which project a place is; identity_files and project_record write it down
settings                    from defaults, user, project and environment; settings_file changes one
trust                       what a person has trusted
person, git_config          who the person is, and what git knows of them
access_tokens               secrets that we hand out
child_environment           what each kind of process finds in its environment; server_variables, store_access

repository_files            files of a project, and never anything outside of it; project_files lists them by name
private_files               our own files and folders, closed to others
atomic_write, file_replacement, file_lock
                            files that nobody sees half of, and one writer at a time
yaml_file                   YAML that people write, with the line of every mistake
clients/                    the files of agent clients
"""
