"""Scripts: tools that a host in the workspace runs, or that are programs of the project.

A script's metadata says what it takes, what it answers and how it may fail; its tool is made from that.

    metadata, manifest       what a script is, and all of them in one file
    error_codes              the codes that scripts and hosts answer with
    project_scripts          the scripts of a project, and which of them a person has trusted
    new_script               the files that such a script begins with
    script_process           runs one of those: a program, started for one call
    jobs/                    what client and host share: the files of `.vsc-bridge` and their meaning
    client/                  the side that wants a script run: finds, starts and replaces hosts
    host/                    the side that runs scripts: one process for each workspace
    debug/                   what the headless host does: debugs programs through debug adapters

A client and a host speak through files, so that either may be written in another language (`editors/vscode` is a host
too) and may die at any moment without harm to the other. `client.job_exchange` explains how a job passes from one to
the other, and why neither waits for ever.
"""
