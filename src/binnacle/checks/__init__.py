"""Runs the checks of a project on a commit, so that what is done was seen and not said.

    check_runner        a check on a commit: verdict, second run, comparison with the base, findings
    │
    ├─ prepared_rooms   checkouts with the check's setup done
    ├─ clean_checkout   a repository of its own with exactly that commit, removed afterwards
    ├─ check_process    one run of a command: bounded in time, memory and output, with a home of its own
    ├─ bounded_log      what it wrote: the beginning and the end
    ├─ exclusive_lock   for checks that may not run at once
    ├─ check_environment   the variables that it gets, and a hash of what it runs in
    ├─ report_options   asks the test runners that are known for a report
    ├─ report_reader    reads that report
    │    ├─ junit_report    JUnit XML
    │    └─ line_reports    go, TAP, cargo, unittest, and what runners print
    ├─ canary           tests of ours that show whether the runner was tampered with
    ├─ change_files     the files of a change, as git has them
    └─ baselines        the reports of bases, kept by tree, definition and environment

    suggestions         proposes checks for a repository

The verdict is formed here, outside of the process that loads the code under test. That code runs as the same user and
can reach what the person can: it is kept from doing harm by accident, not by force.
"""
