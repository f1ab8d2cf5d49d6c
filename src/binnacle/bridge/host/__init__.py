"""The side that runs scripts, in the process of `bn bridge host`.

`job_host` takes jobs and answers them, `host_lock` makes sure that a workspace has one host, and `job_cleanup`
removes what clients and hosts left behind.
"""
