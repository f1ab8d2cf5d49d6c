"""The `bn` command: for people on a terminal, JSON for programs.

main                finds the command, runs it, prints the answer or the error
command_index       every first word, without importing its command; command declares one
parser, tags        words into arguments, building one parser only
context             what a command works with: project and store, opened when first used
permission_check    whether the caller may run the command
commands/           what each command does

output, screen      for whom it writes; tables, colours, and text that cannot break a terminal
views, task_view, graph_drawing, progress_bar, paging, problem_list, outcome_answer
                    parts that several commands show
run_view, run_lines, run_footer
                    a run on a terminal or in a log
help, suggestions   help by topic, and what a mistyped word may have meant
task_batch, dates, escaping
                    several tasks in one command, dates as people write them, JSON for terminals
"""
