"""The side that wants a script run.

`bridge_client` is what others use: it finds a host that answers, has it run a script, and replaces it when it is
stuck. For that it uses `editor_lookup` (an editor that has the folder open), `host_starter` (a headless host, started
once for all), `job_exchange` (one job, from its files to its answer) and `liveness` (whether the host of a job still
lives). `bridge_status` describes all of it to a person.
"""
