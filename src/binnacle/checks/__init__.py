"""Runs the checks of a project on a commit, so that what is done was seen and not said.

    check_runner        a check on a commit: a first run, a second one, the base, the base's tests
    ├─ check_subject       what it is about: commit, base, what differs, environment
    ├─ baselines           the reports of bases, kept by tree, definition and environment
    ├─ base_comparison     rules that compare a change with its base, test by test
    ├─ change_files        the files of a change, as git has them
    │    └─ check_programs      which of them decide what a check runs
    ├─ exclusive_lock      for checks that may not run at once
    ├─ check_conclusion    the result, with its log
    └─ single_run          one run of a check
         ├─ prepared_rooms      checkouts with the check's setup done
         │    └─ kept_setups          what a setup made on the base, kept for later commits
         │         ├─ setup_key            for which commits it is right
         │         ├─ setup_slots          where it is kept, and who uses it
         │         └─ setup_snapshot       the files that it made
         ├─ clean_checkout      a repository of its own with exactly that commit, removed afterwards
         ├─ check_environment   the variables that it gets, and a hash of what it runs in
         ├─ check_process       one command: bounded in time, memory and output
         ├─ bounded_log         what it wrote: the beginning and the end
         ├─ canary              tests of ours that show whether the runner was tampered with
         ├─ report_options      asks the test runners that are known for a report
         └─ run_observation     what was seen of it, from outside
              └─ report_reader       reads the report
                   ├─ junit_report        JUnit XML
                   └─ line_reports        go, TAP, cargo, unittest, and what runners print

    suggestions         proposes checks for a repository
    └─ setup_suggestions   how its checkout is prepared, and when that can be kept

The verdict is formed here, outside of the process that loads the code under test. That code runs as the same user and
can reach what the person can: it is kept from doing harm by accident, not by force.
"""
